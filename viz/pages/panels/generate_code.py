"""Python that draws the figures of Generate again, from the model alone."""

from transformer.beam import BeamSettings
from transformer.generate import GenerationSettings
from viz.pages.panels.generated import Search, Written

_PLAIN, _PLAIN_BEAMS = GenerationSettings(), BeamSettings()
_NAME = "def name(token):\n    known = token is not None and token < model.tokenizer.vocab_size\n"
_NAME += '    return model.tokenizer.token(token) if known else f"<{token}>"\n\n'


def step_code(found: Written) -> str:
    """Lines that make `step`, the one that is looked at, and `name`."""
    number = found.looked_at.number
    return (
        "from itertools import islice\n\nfrom transformer.generate import GenerationSettings, generate\n\n"
        f"{_NAME}settings = GenerationSettings({_told(found.settings, _PLAIN)})\n"
        f"*_, step = islice(generate(model, {_text(found)}, settings=settings), {number + 1})\n"
    )


def bars_code(found: Written, row: int) -> str:
    """The bars of one step, `row` framed."""
    chosen = "step.distribution" if found.samples else "step.distribution.uncut"
    return (
        f"{step_code(found)}chosen = {chosen}\nnames = [name(int(token)) for token in chosen.ids]\n"
        f"figure = figures.sampling_bars(chosen, names, selected={row})\n"
    )


def cache_code(found: Written, first: int) -> str:
    """The cache after one step, from token `first` on."""
    return (
        f"{step_code(found)}cells = step.cache.cells()[:, {first}:]\n"
        f"names = [name(token) for token in step.ids[{first}:-1]]\n"
        "figure = figures.cache_grid(cells, names, nbytes=step.cache.nbytes, why=step.cache.why)\n"
    )


def tree_code(found: Search) -> str:
    """The tree of a search so far."""
    return (
        "from itertools import islice\n\nfrom transformer.beam import BeamSettings, beam_search, tree\n\n"
        f"{_NAME}settings = BeamSettings({_told(found.settings, _PLAIN_BEAMS)})\n"
        f"steps = list(islice(beam_search(model, {_text(found)}, settings=settings), {len(found.steps)}))\n"
        "nodes = tree(steps)\n"
        f"figure = figures.beam_tree(nodes, [name(node.token) for node in nodes], selected={found.node})\n"
    )


def _text(found: Written | Search) -> str:
    two = found.engine.load(found.model).encoder_decoder
    return f"source={found.text!r}" if two else repr(found.text)


def _told(settings: GenerationSettings | BeamSettings, plain: GenerationSettings | BeamSettings) -> str:
    """The settings that are not as they stand by themselves."""
    changed = ((name, value) for name, value in vars(settings).items() if value != getattr(plain, name))
    return ", ".join(f"{name}={value!r}" for name, value in changed)
