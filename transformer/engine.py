"""The desk where pages ask: a trace of this text on this model, from the store or from one pass."""

from collections.abc import Iterator, Sequence
from threading import Semaphore
from typing import Protocol

from transformer import catalog
from transformer.catalog import Choice
from transformer.errors import TextTooLong, UnknownModel
from transformer.generate import GenerationSettings, generate
from transformer.generate import Step as GenerationStep
from transformer.growing import Growing
from transformer.image import ImageShape
from transformer.kept import Kept
from transformer.messages import message
from transformer.next_pass import CannotGenerate, NotAGenerator
from transformer.parts import Array
from transformer.prompt import NoStartToken
from transformer.rows import encode
from transformer.store import TraceStore
from transformer.tokenizer import Encoding
from transformer.trace import Trace
from transformer.wrapped import LoadedModel

AT_ONCE = 2  # passes that are computed at a time, whoever asks: in either language, by the page or by programs
LONGEST_ANSWER = 64  # tokens that an encoder–decoder writes for the page by itself
ANSWERS_KEPT = 256
PICTURES_KEPT = 32
GENERATIONS_KEPT = 16  # each unfinished one holds its keys and values
LONGEST_TEXT = 20_000  # characters; tokenizing more would keep others waiting


class Step(Protocol):
    """A stage of something that takes long: `text(language)` says what happens and how far it is."""

    def text(self, language: str = "en") -> str: ...


class Engine:
    """Models and runs, shared by all visitors of one server.

    `memory_mb` bounds the recorded runs, `max_tokens` the length of a text, `limit_mb` the size of a model. With
    `packs=False` no pack is offered that is not here already; with `folders=False` nobody may name folders of this
    computer.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        memory_mb: int = 1024,
        max_tokens: int = 1024,
        limit_mb: int | None = None,
        packs: bool = True,
        folders: bool = True,
    ) -> None:
        self.store = TraceStore(memory_mb << 20)
        self.max_tokens, self.limit_mb, self.packs, self.folders = max_tokens, limit_mb, packs, folders
        self.model = model or catalog.default_choice()
        self._pictures = Kept[tuple[str, int], list[Array]](PICTURES_KEPT)
        self._answers = Kept[tuple[str, str], str](ANSWERS_KEPT)
        self._growing = Kept[tuple[str, str, GenerationSettings], Growing](GENERATIONS_KEPT)
        self._computing = Semaphore(AT_ONCE)

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
        offered = [choice.name for choice in self.choices()]
        if name in {choice.name for choice in catalog.choices()} and name not in offered:
            raise UnknownModel(name=name, known=", ".join(offered))

    def trace(self, name: str, text: str, target: str | None = None) -> Trace:
        """The recorded run of `text` (and `target`) on a model: one pass, however many ask.

        Raises the errors of `run`, `load_model`, and TextTooLong.
        """
        from transformer.runner import run, trace_key

        for one in (text, target or ""):
            if len(one) > LONGEST_TEXT:
                raise TextTooLong(got=len(one), limit=LONGEST_TEXT)
        model = self.load(name)
        first = model.structure.stacks[0].name
        encodings = {first: encode(model, text, self.max_tokens)}
        if model.encoder_decoder and target is not None:
            encodings["decoder"] = encode(model, target, self.max_tokens)

        def one_pass() -> Trace:
            with self._computing:
                found = run(model, text, target if model.encoder_decoder else None, max_tokens=self.max_tokens)
            assert isinstance(found, Trace)
            return found

        return self.store.get_or_run(trace_key(model, encodings), one_pass)

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

    def growing(self, name: str, text: str, settings: GenerationSettings) -> Growing:
        """The generation that begins with a text (of an encoder–decoder: that answers it), shared by all who ask for
        the same one. Raises what `generate` raises."""
        model = self.load(name)
        key = (model.fingerprint, text, settings)
        begins, source = (None, text) if model.encoder_decoder else (text, None)

        def steps() -> Iterator[GenerationStep]:
            return generate(model, begins, source=source, settings=settings, max_tokens=self.max_tokens)

        return self._growing.get_or_make(key, lambda: Growing(steps, self._computing))

    def encoding_of(self, name: str, ids: Sequence[int]) -> Encoding:
        """Ids that a model wrote, as tokens."""
        tokenizer = self.load(name).tokenizer
        return Encoding.from_ids(ids) if tokenizer is None else tokenizer.encoding_of_ids(ids)

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

    def small_maps(self, trace: Trace, block: int) -> list[Array]:
        """All heads' maps, shrunk; kept for the few runs that are looked at, since a long text's take seconds."""
        from transformer.overview import shrunken_maps

        return self._pictures.get_or_make((trace.key, block), lambda: shrunken_maps(trace, block))


def _real_spans(encoding: Encoding) -> Iterator[tuple[int, int]]:
    """What the tokens that are no specials stand for, each part of the text once."""
    done = 0
    for span, special in zip(encoding.spans, encoding.special, strict=True):
        if span is not None and not special and span[1] > done:
            yield max(span[0], done), span[1]
            done = span[1]
