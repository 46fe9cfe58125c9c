"""What a visitor takes along: a figure's numbers, its page, or the Python that draws it again; or the whole run."""

import io
import json
from functools import cache
from importlib.metadata import version
from urllib.parse import quote

from transformer.errors import SeeThroughError
from viz import figures
from viz.pages.blocks import Plot
from viz.pages.downloads import DOWNLOADS, File
from viz.pages.panels.registry import OPTIONS
from viz.pages.scene import Scene

KINDS = ("csv", "npz", "html", "py")
LONGEST_TEXT = 80  # characters of the text in a caption
LARGEST_RUN = 150_000_000  # bytes that the page makes a file of: it lies in memory until the browser has it


class RunTooLarge(SeeThroughError):
    """A whole run that is no page's to hand out; from Python it is written to the disk at once."""


def kinds_of(plot: Plot) -> tuple[str, ...]:
    """Which of `KINDS` a figure has."""
    return (*(("csv", "npz") if plot.data else ()), "html", *(("py",) if plot.code else ()))


def take(scene: Scene, plot: Plot, kind: str) -> File:
    """The file of one `kind`. Raises ValueError for a kind that this figure has not."""
    name = f"{plot.name}-{_model(scene)}-{scene.site.replace('.', '-')}-head{scene.head}"
    if kind not in kinds_of(plot):
        raise ValueError(f"{plot.name} has no {kind}")
    if kind == "py":
        return File(f"{name}.py", "text/x-python", script(scene, plot).encode())
    if kind == "html":
        page = figures.standalone_html(plot.draw(), title=plot.label, caption=caption(scene), language=scene.language)
        return File(f"{name}.html", "text/html", page.encode())
    assert plot.data is not None
    data = plot.data()
    if kind == "csv":
        text = figures.as_csv(data.values, data.rows, data.columns, corner=data.corner, allowed=data.allowed)
        return File(f"{name}.csv", "text/csv", text.encode("utf-8-sig"))  # with the mark that spreadsheets look for
    content = figures.as_npz(
        data.values, data.rows, data.columns, allowed=data.allowed, more=data.more, caption=caption(scene)
    )
    return File(f"{name}.npz", "application/octet-stream", content)


def whole_run(scene: Scene) -> File:
    """Everything that was recorded, as `Trace.load` and NumPy read it, without weights. Raises RunTooLarge."""
    trace = scene.trace
    if trace.nbytes > LARGEST_RUN:
        raise RunTooLarge(got=_megabytes(trace.nbytes), limit=_megabytes(LARGEST_RUN), script=_run_again(scene))
    content = io.BytesIO()
    trace.save(content)
    return File(f"run-{_model(scene)}.npz", "application/octet-stream", content.getvalue())


def told_of_run(scene: Scene, file: File) -> str:
    """How large it is, and how it is opened."""
    return scene.say("take.run.made", name=file.name, megabytes=_megabytes(len(file.content)))


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f}" if count < 10e6 else f"{count / 1e6:,.0f}"


def _model(scene: Scene) -> str:
    """The model's name as a part of a file's: without the folders or the owner before it."""
    return scene.selection.model.rpartition("/")[2]


def _run_again(scene: Scene) -> str:
    return f"trace = run(load_model({scene.selection.model!r}), …); trace.save('run.npz')"


def offered(file: File) -> str:
    """Where the browser finds the file, for `stt.downloadView`."""
    token = DOWNLOADS.offer(file)
    return json.dumps({"address": f"file/{token}/{quote(file.name)}", "name": file.name})


def caption(scene: Scene) -> str:
    """What a picture was made of: model, text, layer, head, seed where chance was asked, and versions."""
    chosen = scene.selection
    by_chance = chosen.panel == "generate" and OPTIONS["gen-mode"].text(chosen) == "sample"
    texts = " → ".join(_short(one) for one in (chosen.text, chosen.target) if one)
    facts = scene.say(
        "take.caption", model=chosen.model, text=texts, site=scene.site, head=chosen.head,
        query=scene.queries[scene.query], key=scene.keys[scene.key],
    )  # fmt: skip
    drawn = [scene.say("take.seed", seed=OPTIONS["gen-seed"].text(chosen))] if by_chance else []
    return " · ".join([facts, *drawn, _versions()])


@cache
def _versions() -> str:
    """Read once: every answer of the stage has a caption, and these are files of hundreds of lines."""
    return f"See-Through Transformer, torch {version('torch')}, plotly {version('plotly')}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"


def script(scene: Scene, plot: Plot) -> str:
    """Python that runs the model again and draws this figure."""
    assert plot.code is not None
    chosen, body = scene.selection, plot.code()
    numpy = "import numpy as np\n\n" if "np." in body else ""
    called = ", ".join(repr(one) for one in (chosen.text, chosen.target) if one is not None)
    return (
        f'"""{scene.say("take.script", name=plot.name)}"""\n\n'
        f"{numpy}from transformer import load_model, run\nfrom viz import figures\n\n"
        f"model = load_model({chosen.model!r})\n"
        f"trace = run(model, {called})\n\n"
        f"{body}\n"
        f'figure.write_html("{plot.name}.html")  # or figure.show()\n'
    )
