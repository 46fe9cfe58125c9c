"""One more pass: the scores of the next token, of any model that writes, with what it has read kept or read again.

Our classes take a `KeyValueCache`, Hugging Face models a `cache` of their own. A `Reader` hides the difference: it is
handed all ids so far and lets the model read those that it has not read.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from transformer.cache_state import CacheState, HeadSizes, Kept, nbytes
from transformer.decoder_lm import DecoderLM
from transformer.encoder_decoder import EncoderDecoder
from transformer.errors import ModelError
from transformer.runner import without_dropout
from transformer.wrapped import LoadedModel


class NotAGenerator(ModelError):
    """The model reads a whole text at once, or has no head that scores next tokens."""


class CannotGenerate(ModelError):
    """A family's own code failed on these very tokens."""


def check_generator(model: LoadedModel) -> None:
    """Raise NotAGenerator for encoders, classifiers, and models without a head."""
    # A prefix as long as the probe makes a causal model of ours look like an encoder.
    writes = model.is_causal or model.encoder_decoder or isinstance(model.module, DecoderLM)
    if not writes or "logits" in model.plan.lacks:
        raise NotAGenerator(model=model.name)


def reader_of(
    model: LoadedModel,
    source: Sequence[int] | None = None,
    *,
    use_cache: bool = True,
    same_ids: bool = False,
    prompt: int = 1,
) -> "Reader":
    """`source`: what an encoder–decoder reads, None for other models; `prompt`: how many ids the first pass has."""
    module: Any = model.module
    why = "" if use_cache else "asked"
    if same_ids:
        return SameIds(model, "same_ids")
    if isinstance(module, DecoderLM | EncoderDecoder):
        # The first tokens of a prefix model see each other, so those that come before it is full change earlier ones.
        why = "prefix" if use_cache and prompt < module.config.prefix else why
        return OwnDecoder(model, why) if source is None else OwnEncoderDecoder(model, why, source)
    if not why and not {"cache", "use_cache"} <= model.accepts:
        why = "family"
    return HuggingFaceDecoder(model, why) if source is None else HuggingFaceEncoderDecoder(model, why, source)


class Reader(ABC):
    """Reads a growing text, one pass at a time. Rows are alternatives of one length (the beams of a beam search)."""

    def __init__(self, model: LoadedModel, why: str) -> None:
        self.name, self.why = model.name, why
        self.module: Any = model.module
        self.vocab_size, self.accepts, self.sizes = model.vocab_size, model.accepts, HeadSizes.of(model)
        self.earlier = self.read = 0  # tokens that earlier passes read, and that have been read now

    def __call__(self, ids: Tensor) -> Tensor:
        """The scores of the next token, (row, vocab_size), after all ids so far, (row, position).

        Raises NotAGenerator, CannotGenerate, and what the forward of our own models raises.
        """
        new = ids if self.why else ids[:, self.read :]
        try:
            with torch.inference_mode(), without_dropout(self.module):
                logits = self.logits(new)
        except (ValueError, RuntimeError, IndexError, TypeError) as problem:
            reason = str(problem).strip().split("\n")[0][:200]
            raise CannotGenerate(model=self.name, reason=reason) from problem
        if logits.ndim != 3 or logits.shape[-1] < self.vocab_size:
            raise NotAGenerator(model=self.name)
        self.earlier, self.read = self.read, ids.shape[1]
        return logits[:, -1].float()

    def state(self) -> CacheState:
        """What the last pass computed and left behind."""
        own, across = self.kept()
        number = next(iter(self.module.parameters())).element_size()
        return CacheState(
            tokens=self.read,
            earlier=self.earlier,
            why=self.why,
            kept=tuple(key.shape[2] for key, _ in own) if own else (0,) * self.sizes.layers,
            nbytes=nbytes(own),
            formula=self.sizes.formula(self.read, number),
            source_nbytes=nbytes(across),
            source_formula=self.sizes.formula(across[0][0].shape[2], number) if across else None,
        )

    @abstractmethod
    def logits(self, ids: Tensor) -> Tensor:
        """(row, position, vocab_size) of at least the last of these ids; what came before them is in the cache."""

    def kept(self) -> tuple[Kept, Kept]:
        """Keys and values of the text that is written, and of the source."""
        return [], []

    def take(self, rows: Tensor) -> None:
        """Go on with these rows, in this order: the beams that live on."""
        assert self.why, "a reader that keeps something takes rows of it"


class OwnDecoder(Reader):
    """Our `DecoderLM`."""

    def __init__(self, model: LoadedModel, why: str) -> None:
        super().__init__(model, why)
        self.cache = None if why else self.module.new_cache()

    def logits(self, ids: Tensor) -> Tensor:
        logits: Tensor = self.module(ids, cache=self.cache).logits
        return logits

    def kept(self) -> tuple[Kept, Kept]:
        return ([], []) if self.cache is None else ([one.kept() for one in self.cache.own], [])

    def take(self, rows: Tensor) -> None:
        if self.cache is not None:
            self.cache.take(rows)


class OwnEncoderDecoder(Reader):
    """Our `EncoderDecoder`: the source is read once, with or without a cache."""

    def __init__(self, model: LoadedModel, why: str, source: Sequence[int]) -> None:
        super().__init__(model, why)
        self.cache = None if why else self.module.new_cache()
        self.source = torch.tensor([list(source)])  # (1, source position)
        self.memory: Tensor | None = None  # (1, source position, d_model)

    def logits(self, ids: Tensor) -> Tensor:
        if self.memory is None:
            self.memory = self.module.encode(self.source)
        logits: Tensor = self.module.decode(ids, self.memory.expand(len(ids), -1, -1), cache=self.cache).logits
        return logits

    def kept(self) -> tuple[Kept, Kept]:
        if self.cache is None:
            return [], []
        return [one.kept() for one in self.cache.own], [one.kept() for one in self.cache.across]

    def take(self, rows: Tensor) -> None:
        if self.cache is not None:
            self.cache.take(rows)


class SameIds(Reader):
    """An encoder–decoder that is given the same ids on both sides, as the Happy-LLM course goes on with a text: each
    new token changes the source too, so nothing can be kept."""

    def logits(self, ids: Tensor) -> Tensor:
        off = {"use_cache": False} if "use_cache" in self.accepts else {}
        logits: Tensor = self.module(input_ids=ids, decoder_input_ids=ids, **off).logits
        return logits


class HuggingFaceDecoder(Reader):
    """A causal language model of `transformers`. A family that gives no cache back is read anew each time."""

    def __init__(self, model: LoadedModel, why: str) -> None:
        super().__init__(model, why)
        self.cache: Any = None

    def logits(self, ids: Tensor) -> Tensor:
        # Scores of one position are enough; of a long prompt and a large vocabulary they would take hundreds of MB.
        last = {"logits_to_keep": 1} if "logits_to_keep" in self.accepts else {}
        return self.answer({"input_ids": ids, **last})

    def answer(self, inputs: dict[str, Any]) -> Tensor:
        keeping = {"use_cache": not self.why} if "use_cache" in self.accepts else {}
        answer = self.module(**inputs, **keeping, **({} if self.why else {"cache": self.cache}))
        self.cache = None if self.why else getattr(answer, "cache", None)
        self.why = self.why or ("" if self.cache is not None else "family")
        logits: Tensor = answer.logits
        return logits

    def kept(self) -> tuple[Kept, Kept]:
        own = getattr(self.cache, "self_attention_cache", self.cache)
        return _pairs(own), _pairs(getattr(self.cache, "cross_attention_cache", None))

    def take(self, rows: Tensor) -> None:
        if self.cache is not None:
            self.cache.reorder_cache(rows)


class HuggingFaceEncoderDecoder(HuggingFaceDecoder):
    """An encoder–decoder of `transformers`: the source is read once where the family takes `encoder_outputs`."""

    def __init__(self, model: LoadedModel, why: str, source: Sequence[int]) -> None:
        super().__init__(model, why if "encoder_outputs" in model.accepts else why or "family")
        self.source = torch.tensor([list(source)])  # (1, source position)
        self.memory: Tensor | None = None  # (1, source position, d_model)

    def logits(self, ids: Tensor) -> Tensor:
        if "encoder_outputs" not in self.accepts:
            return self.answer({"input_ids": self.source.expand(len(ids), -1), "decoder_input_ids": ids})
        from transformers.modeling_outputs import BaseModelOutput

        if self.memory is None:
            self.memory = self.module.get_encoder()(input_ids=self.source).last_hidden_state
        memory = BaseModelOutput(last_hidden_state=self.memory.expand(len(ids), -1, -1))
        return self.answer({"encoder_outputs": memory, "decoder_input_ids": ids})


def _pairs(cache: Any) -> Kept:
    """Keys and values of a Hugging Face cache; a layer that keeps something else is left out."""
    layers = getattr(cache, "layers", None) or ()
    pairs: list[Any] = [(getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in layers]
    return [pair for pair in pairs if all(isinstance(one, Tensor) and one.ndim == 4 for one in pair)]
