"""What a visitor can choose: a catalog name, a local folder, or a hub id, and how it becomes a `LoadedModel`."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

from transformer import packs
from transformer.cards import NAMES, is_shipped
from transformer.errors import SeeThroughError
from transformer.wrapped import LoadedModel, wrap


@dataclass(frozen=True)
class Choice:
    """One model of the catalog. `title` is a proper name; words about it stand under `model.<name>` in the messages."""

    name: str
    title: str
    pack: packs.Pack | None = None  # it travels as a pack; None: it is made here

    @property
    def ready(self) -> bool:
        """Whether it can be loaded now, without fetching anything."""
        return self.pack is None or packs.installed(self.pack.name)


def _untrained() -> LoadedModel:
    """A small decoder with random weights, for a computer that has no other model: true mechanics, no meaning."""
    import torch

    from transformer.config import ModelConfig
    from transformer.decoder_lm import DecoderLM
    from transformer.tokenizer import ByteTokenizer

    tokenizer = ByteTokenizer()
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, max_positions=512, d_model=64, n_layers=4, n_heads=4, positions="learned"
    )
    return wrap(DecoderLM(config, generator=torch.Generator().manual_seed(0)), tokenizer, "untrained")


def _shipped(name: str) -> LoadedModel:
    """A model that we trained ourselves, from its card and weights in `assets/weights`."""
    from transformer.cards import load_shipped

    shipped = load_shipped(name)
    return replace(wrap(shipped.module, shipped.tokenizer, name), card=shipped.card)


SHIPPED = tuple(name for name in NAMES if is_shipped(name))
_MADE_HERE: dict[str, Callable[[], LoadedModel]] = {
    **{name: partial(_shipped, name) for name in SHIPPED},
    "untrained": _untrained,
}
_COPIES = {f"{pack}-ours": pack for pack in packs.PACKS}  # a pack's weights in our own class
_AS_OURS = "ours:"  # before any other name: the same, of a folder or a hub model
MOST_TYPED = 2  # models in memory beside the catalog's own; whoever types a third name lets the oldest go
_loaded: dict[str, LoadedModel] = {}
_locks: dict[str, Lock] = {}
_guard = Lock()


def choices() -> tuple[Choice, ...]:
    """The catalog, in the order in which the page offers it."""
    travelling = [Choice(pack.name, pack.title, pack) for pack in packs.PACKS.values()]
    copies = [Choice(name, packs.PACKS[pack].title, packs.PACKS[pack]) for name, pack in _COPIES.items()]
    embedded, last = [Choice(name, name) for name in SHIPPED], Choice("untrained", "untrained")
    return (*embedded, *travelling, *copies, last)


def default_choice() -> str:
    """The first model that is there without fetching anything."""
    return next(choice.name for choice in choices() if choice.ready)


def load_model(
    name: str, *, ours: bool = False, limit_mb: int | None = None, folders_allowed: bool = True
) -> LoadedModel:
    """A catalog name, a local folder, or a hub id; loaded once and then shared.

    `ours`: its weights in our own class ("smollm2-ours" is the same), which raises CannotCopy where ours is another
    architecture. `limit_mb`: refuse models that need more memory. `folders_allowed=False`: a page that serves others
    must not let a visitor name folders of this computer. Raises the ModelError and PackError of `errors.py`.
    """
    name = canonical(_in_our_class(name) if ours else name, folders_allowed)
    with _guard:
        lock = _locks.setdefault(name, Lock())
    with lock:
        try:
            found = _loaded.get(name) or _load(name, limit_mb, folders_allowed)
        except SeeThroughError:
            _locks.pop(name, None)
            raise
        with _guard:
            _loaded.pop(name, None)
            _loaded[name] = found  # the latest is last
            typed = [one for one in _loaded if one not in _own_names()]
            for oldest in typed[:-MOST_TYPED]:
                del _loaded[oldest]
                _locks.pop(oldest, None)
    return found


def canonical(name: str, folders_allowed: bool = True) -> str:
    """One name for each model: the real path of a folder, the plain id of a hub address. Raises UnknownModel."""
    if name in _own_names():
        return name
    from transformer import hub, pretrained

    source = _source(name)
    if source is not None and (source in _own_names() or source.startswith(_AS_OURS)):
        raise hub.unknown(name)  # what the catalog has in our class has a name of its own there
    if source is not None:
        return _AS_OURS + canonical(source, folders_allowed)
    folder = pretrained.local_folder(name, folders_allowed)
    return hub.hub_id(name) if folder is None else str(folder.resolve())


def _own_names() -> set[str]:
    return {*packs.PACKS, *_COPIES, *_MADE_HERE}


def _in_our_class(name: str) -> str:
    """The name of a model's copy in our own class; the model's own name where it is ours already."""
    if name in _COPIES or name in _MADE_HERE or name.startswith(_AS_OURS):
        return name
    return next((copy for copy, pack in _COPIES.items() if pack == name), _AS_OURS + name)


def _source(name: str) -> str | None:
    """The model that a copy takes its weights from; None: it is no copy."""
    return name.removeprefix(_AS_OURS).strip() if name.startswith(_AS_OURS) else _COPIES.get(name)


def is_loaded(name: str, folders_allowed: bool = True) -> bool:
    return canonical(name, folders_allowed) in _loaded


def is_here(name: str, folders_allowed: bool = True) -> bool:
    """Whether it can be loaded without fetching anything that costs time or room."""
    known = canonical(name, folders_allowed)
    if known in _loaded:
        return True
    known = _source(known) or known
    if known in packs.PACKS:
        return packs.installed(known)
    return known in _loaded or known in _MADE_HERE or os.path.isabs(known)


def bring(name: str, *, limit_mb: int | None = None, folders_allowed: bool = True) -> Iterator[packs.Progress]:
    """Fetch what a name stands for, stage by stage, if it is not on this computer yet."""
    name = _source(name) or name
    if name in packs.PACKS:
        yield from () if packs.installed(name) else packs.add(name)
    elif name not in _MADE_HERE and not is_loaded(name, folders_allowed):
        from transformer import pretrained

        yield from pretrained.bring(name, folders_allowed=folders_allowed, **_limits(limit_mb))


def _limits(limit_mb: int | None) -> dict[str, int]:
    return {} if limit_mb is None else {"limit_mb": limit_mb}


def _load(name: str, limit_mb: int | None, folders_allowed: bool) -> LoadedModel:
    if name in _MADE_HERE:
        return _MADE_HERE[name]()
    source = _source(name)
    if source is not None:
        from transformer.copied_weights import ours_like

        theirs = _loaded.get(source) or _load(source, limit_mb, folders_allowed)
        return wrap(ours_like(theirs.module), theirs.tokenizer, name)
    from transformer import pretrained

    if name in packs.PACKS:
        for _ in packs.add(name):
            pass  # fetched if it is not there yet; a page shows these steps itself before it loads
        return pretrained.load_folder(packs.pack_folder(name), name, **_limits(limit_mb))
    return pretrained.load(name, folders_allowed=folders_allowed, **_limits(limit_mb))
