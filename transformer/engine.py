"""The desk where pages ask: a trace of this text on this model, from the store or from one pass."""

from collections.abc import Iterator, Sequence
from threading import Semaphore
from typing import Protocol

from transformer import catalog
from transformer.beam import BeamSettings, BeamStep, beam_search
from transformer.catalog import Choice
from transformer.errors import TextTooLong, UnknownModel
from transformer.generate import GenerationSettings, generate
from transformer.generate import Step as GenerationStep
from transformer.growing import Awake, Growing
from transformer.image import ImageShape
from transformer.kept import Kept
from transformer.kept_heads import KeptHeads
from transformer.messages import message
from transformer.next_pass import CannotGenerate, NotAGenerator
from transformer.parts import Array
from transformer.prompt import Prompt, end_ids, prompt_of
from transformer.room import longest_recorded
from transformer.rows import encode, encode_target
from transformer.second_text import NoStartToken
from transformer.segmentation import Segmentations
from transformer.segmentation_steps import Segmentation
from transformer.store import TraceStore
from transformer.tokenizer import Encoding
from transformer.trace import Trace
from transformer.wrapped import LoadedModel

AT_ONCE = 2  # passes that are computed at a time, whoever asks: in either language, by the page or by programs
LONGEST_ANSWER = 64  # tokens that an encoder–decoder writes for the page by itself
ANSWERS_KEPT = 256
PICTURES_KEPT = 32
AWAKE = 2  # generations that hold their keys and values: 45 MB for a thousand tokens of SmolLM2, more in beams
ROOMS_KEPT = 64
KEYS_KEPT = 256
GENERATIONS_KEPT = 16  # each unfinished one holds its keys and values
SEARCHES_KEPT = 8  # each unfinished one holds those of several texts
BATCHES_KEPT = 4  # each holds the queries and keys of all its rows
LONGEST_ROW = 256  # tokens of a text in a padded batch
LONGEST_TEXT = 20_000  # characters; tokenizing more would keep others waiting


class Step(Protocol):
    """A stage of something that takes long: `text(language)` says what happens and how far it is."""

    def text(self, language: str = "en") -> str: ...


class Engine:
    """Models and runs, shared by all visitors of one server.

    `memory_mb` bounds the recorded runs, and with them the length of a text (one run takes half of it at most), which
    `max_tokens` bounds as well; `limit_mb` bounds the size of a model. With
    `packs=False` no pack is offered that is not here already; with `folders=False` nobody may name folders of this
    computer.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        memory_mb: int = 1024,
        max_tokens: int = 4096,
        limit_mb: int | None = None,
        packs: bool = True,
        folders: bool = True,
    ) -> None:
        self.store = TraceStore(memory_mb << 20)
        self.max_tokens, self.limit_mb, self.packs, self.folders = max_tokens, limit_mb, packs, folders
        self.model = model or catalog.default_choice()
        self._long_maps = Kept[tuple[str, str, int, int], Array](PICTURES_KEPT)
        self._pictures = Kept[tuple[str, int, bool], list[Array]](PICTURES_KEPT)
        self._answers = Kept[tuple[str, str], str](ANSWERS_KEPT)
        self._growing = Kept[tuple[str, str, GenerationSettings], Growing[GenerationStep]](GENERATIONS_KEPT)
        self._awake = Awake(AWAKE)
        self._searching = Kept[tuple[str, str, BeamSettings], Growing[BeamStep]](SEARCHES_KEPT)
        self._batches = Kept[tuple[str, tuple[str, ...]], tuple[Trace, ...]](BATCHES_KEPT)
        self._segmentations = Segmentations()
        self.heads = KeptHeads()
        self._computing = Semaphore(AT_ONCE)
        self._rooms = Kept[str, int](ROOMS_KEPT)
        self._keys = Kept[tuple[str, str, str | None, int], str](KEYS_KEPT)

    def choices(self) -> tuple[Choice, ...]:
        """What the page offers; a folder or a hub id can be typed as well."""
        return tuple(choice for choice in catalog.choices() if choice.ready or self.packs)

    def bring(self, name: str) -> Iterator[Step]:
        """Fetch a model that is not on this computer yet, stage by stage; nothing where it is here."""
        self._refuse_packs(name)
        return catalog.bring(name, limit_mb=self.limit_mb, folders_allowed=self.folders)

    def is_here(self, name: str) -> bool:
        """Whether it can be run without fetching it first."""
        return catalog.is_here(name, self.folders)

    def load(self, name: str) -> LoadedModel:
        self._refuse_packs(name)
        return catalog.load_model(name, limit_mb=self.limit_mb, folders_allowed=self.folders)

    def warm_up(self, text: str) -> None:
        """Load the first model and run it once: the first pass of a process takes much longer than any other, and what
        the page says about the time of a pass should hold."""
        from transformer.runner import run

        model = self.load(self.model)
        run(model, text, text, record=())

    def is_loaded(self, name: str) -> bool:
        return catalog.is_loaded(name, self.folders)

    def _refuse_packs(self, name: str) -> None:
        """A server that was started without packs fetches none, however they are asked for."""
        if self.packs:
            return
        choice = next((choice for choice in catalog.choices() if choice.name == name), None)
        if choice is not None and not choice.ready:
            raise UnknownModel(name=name, known=", ".join(one.name for one in self.choices()))

    def trace(self, name: str, text: str, target: str | None = None) -> Trace:
        """The recorded run of `text` (and `target`) on a model: one pass, however many ask.

        Raises the errors of `run`, `load_model`, and TextTooLong.
        """
        from transformer.runner import run, trace_key

        for one in (text, target or ""):
            if len(one) > LONGEST_TEXT:
                raise TextTooLong(got=len(one), limit=LONGEST_TEXT)
        model = self.load(name)
        longest = self.longest(model)

        def key() -> str:
            encodings = {model.structure.stacks[0].name: encode(model, text, longest)}
            if model.encoder_decoder and target is not None:
                encodings["decoder"] = encode_target(model, target, longest)
            return trace_key(model, encodings)

        def one_pass() -> Trace:
            with self._computing:
                found = run(model, text, target if model.encoder_decoder else None, max_tokens=longest)
            assert isinstance(found, Trace)
            return found

        # Every click asks for its run: the text is not tokenized anew for that.
        known = self._keys.get_or_make((model.fingerprint, text, target, longest), key)
        return self.store.get_or_run(known, one_pass)

    def longest(self, model: LoadedModel) -> int:
        """How many tokens a text may have on a model here."""

        def measured() -> int:
            found = longest_recorded(model, self.store.budget // 2)
            return self.max_tokens if found is None else max(1, min(found, self.max_tokens))

        return self._rooms.get_or_make(model.fingerprint, measured)

    def batch(self, name: str, texts: Sequence[str]) -> tuple[Trace, ...]:
        """The recorded rows of `texts` that went through a model as one padded batch, each with its padding.

        For models that read one text. Raises the errors of `run` (MissingTarget for an encoder–decoder), and
        TextTooLong.
        """
        from transformer.runner import run

        for one in texts:
            if len(one) > LONGEST_TEXT:
                raise TextTooLong(got=len(one), limit=LONGEST_TEXT)
        model, limit = self.load(name), min(self.max_tokens, LONGEST_ROW)

        def one_pass() -> tuple[Trace, ...]:
            with self._computing:
                found = run(model, list(texts), max_tokens=limit)
            assert isinstance(found, list)
            return tuple(found)

        return self._batches.get_or_make((model.fingerprint, tuple(texts)), one_pass)

    def token(self, name: str, token: int) -> str:
        """The readable name of a token id of a model."""
        tokenizer = self.load(name).tokenizer
        known = tokenizer is not None and token < tokenizer.vocab_size  # many models have rows beyond their tokenizer's
        return tokenizer.token(token) if tokenizer is not None and known else f"<{token}>"

    def image_shape(self, name: str) -> ImageShape | None:
        """What a vision model reads; None for a model that reads text."""
        return self.load(name).image

    def answer(self, name: str, text: str) -> str:
        """What an encoder–decoder writes for a text, always taking the most probable token; kept for who asks again.

        A model that writes nothing (it has no head, no start token, or its answer spells no text) gets the text itself
        as its second text. Raises what `encode` raises.
        """
        model = self.load(name)
        return self._answers.get_or_make((model.fingerprint, text), lambda: self._written(model, text))

    def _written(self, model: LoadedModel, text: str) -> str:
        settings = GenerationSettings(max_new_tokens=LONGEST_ANSWER)
        encode(model, text, self.max_tokens)
        try:
            with self._computing:
                *_, last = generate(model, source=text, settings=settings, max_tokens=self.max_tokens)
        except (NoStartToken, NotAGenerator, CannotGenerate):
            return text
        written = self.spelled(model.name, last.ids[: len(last.ids) - (last.stop == "end")])
        return written if written.strip() else text

    def prompt(self, name: str, text: str) -> Prompt:
        """Where a generation from a text begins, without a pass of it. Raises what `generate` raises at once."""
        model = self.load(name)
        begins, source = _sides(model, text)
        return prompt_of(model, begins, None, source, None, max_tokens=self.longest(model))

    def growing(self, name: str, text: str, settings: GenerationSettings) -> Growing[GenerationStep]:
        """The generation that begins with a text (of an encoder–decoder: that answers it), shared by all who ask for
        the same one. Raises what `generate` raises."""
        model = self.load(name)
        key, (begins, source) = (model.fingerprint, text, settings), _sides(model, text)

        def steps() -> Iterator[GenerationStep]:
            return generate(model, begins, source=source, settings=settings, max_tokens=self.longest(model))

        return self._awake.wake(self._growing.get_or_make(key, lambda: Growing(steps, self._computing)))

    def beams(self, name: str, text: str, settings: BeamSettings) -> Growing[BeamStep]:
        """The same as a beam search."""
        model = self.load(name)
        key, (begins, source) = (model.fingerprint, text, settings), _sides(model, text)

        def steps() -> Iterator[BeamStep]:
            return beam_search(model, begins, source=source, settings=settings, max_tokens=self.longest(model))

        return self._awake.wake(self._searching.get_or_make(key, lambda: Growing(steps, self._computing)))

    def without_cache(self, name: str, text: str, step: GenerationStep) -> GenerationStep:
        """A step of the generation from `text` once more: one pass of all its tokens, and nothing kept. It lists twice
        as many candidates, so that those of `step` are among them even if some change places in rounding."""
        model = self.load(name)
        shown = 2 * len(step.distribution.ids)
        settings = GenerationSettings(max_new_tokens=1, use_cache=False, shown=shown, forced=((0, step.token),))
        source = text if model.encoder_decoder else None
        with self._computing:
            return next(generate(model, ids=step.ids[:-1], source=source, settings=settings))

    def reads_as(self, name: str, text: str, target: str | None, ids: Sequence[int]) -> bool:
        """Whether the last stack reads a text (and its second text) as these ids; an end token behind them counts not.
        Raises what `encode` raises."""
        model, written = self.load(name), tuple(ids)
        if written[-1:] and written[-1] in end_ids(model):
            written = written[:-1]
        return (encode(model, text) if target is None else encode_target(model, target)).ids == written

    def encoding_of(self, name: str, ids: Sequence[int]) -> Encoding:
        """Ids that a model wrote, as tokens."""
        tokenizer = self.load(name).tokenizer
        return Encoding.from_ids(ids) if tokenizer is None else tokenizer.encoding_of_ids(ids)

    def segmentation(self, name: str, text: str) -> Segmentation:
        """How a model's tokenizer cuts a text, step by step; kept. Raises what `Segmentations.of` raises."""
        return self._segmentations.of(self.load(name), text)

    def spelled(self, name: str, ids: Sequence[int]) -> str:
        """The text that ids stand for, without specials; "" where their bytes are none."""
        encoding = self.encoding_of(name, ids)
        return "".join((encoding.text or "")[slice(*span)] for span in _real_spans(encoding))

    def class_name(self, name: str, number: int, language: str = "en") -> str:
        """What a classifier calls its class: our words for a model of ours, its own configuration's for any other."""
        try:
            return message(f"class.{name}.{number}", language)
        except KeyError:
            named = getattr(getattr(self.load(name).module, "config", None), "id2label", None) or {}
            return str(named.get(number, number))

    def long_map(self, trace: Trace, site: str, head: int, block: int) -> Array:
        """One head's map of a long text, shrunk; kept, since its cells are looked at one after the other."""
        from transformer.long_map import long_map

        key = (trace.key, site, head, block)
        return self._long_maps.get_or_make(key, lambda: long_map(trace, site, head, block))

    def small_maps(self, trace: Trace, block: int, *, words: bool = False) -> list[Array]:
        """All heads' maps, shrunk; kept for the few runs that are looked at, since a long text's take seconds."""
        from transformer.overview import shrunken_maps

        return self._pictures.get_or_make((trace.key, block, words), lambda: shrunken_maps(trace, block, words=words))


def _sides(model: LoadedModel, text: str) -> tuple[str | None, str | None]:
    """(what is gone on with, what is read and answered) of a text that a visitor typed."""
    return (None, text) if model.encoder_decoder else (text, None)


def _real_spans(encoding: Encoding) -> Iterator[tuple[int, int]]:
    """What the tokens that are no specials stand for, each part of the text once."""
    done = 0
    for span, special in zip(encoding.spans, encoding.special, strict=True):
        if span is not None and not special and span[1] > done:
            yield max(span[0], done), span[1]
            done = span[1]
