"""The only door to Hugging Face models: a folder of this computer, or a model of the hub, becomes a `LoadedModel`.

Only safetensors are read, no code that comes with a model is run, everything is float32, and nothing is loaded before
its kind and its size are known. What may be strange in a stranger's files ends as a named error, never as a traceback.
"""

import os
import re
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch import nn
from transformers import AutoTokenizer
from transformers.utils import logging

from transformer import hub
from transformer.errors import BrokenModel, ModelError, NeedsRemoteCode, SeeThroughError, SlowTokenizer
from transformer.model_kind import configuration
from transformer.pack_steps import Progress
from transformer.weights_size import check_size, parameters, read_config, weights_files
from transformer.wrapped import LoadedModel, wrap

DEFAULT_LIMIT_MB = 4000  # leaves an 8 GB computer half of its memory; about 800 million parameters
_TOKENIZER_FILES = ("tokenizer*", "vocab.*", "merges.txt", "*.model", "*.spm", "*.tiktoken", "tekken.json")
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][^\s/\\'\":,]+){2,}")
# The library's verbosity is one for the whole process; and two models at once would need the memory of both.
_alone = Lock()


class FoldersClosed(ModelError):
    """A visitor named a folder, on a page that serves others."""


class WeightsDoNotFit(ModelError):
    """Tensors are missing or of another shape; the library would fill them with random numbers."""


def load(name: str, *, folders_allowed: bool = True, limit_mb: int = DEFAULT_LIMIT_MB) -> LoadedModel:
    """A local folder or a hub id ("owner/name", or the address of its page).

    `folders_allowed=False` is for names that strangers type on a public page: no folder of this computer is opened, not
    even to see whether it is there, and the hub is asked without the token of whoever serves the page.
    Raises FoldersClosed and what `load_folder` and `load_hub` raise.
    """
    folder = local_folder(name, folders_allowed)
    if folder is not None:
        return load_folder(folder, limit_mb=limit_mb)
    return load_hub(name, limit_mb=limit_mb, token=folders_allowed)


def bring(
    name: str, *, folders_allowed: bool = True, limit_mb: int = DEFAULT_LIMIT_MB
) -> Generator[Progress, None, Path]:
    """The first half of `load`, step by step: the folder from which the model can be loaded, fetched if need be.

    Closing the iterator stops the work. What was fetched whole is found at once the next time, without a network too.
    """
    folder = local_folder(name, folders_allowed)
    if folder is None:
        folder = yield from hub.fetch(name, limit_mb=limit_mb, accepts=model_class, token=folders_allowed)
    return folder


def load_hub(
    hub_id: str,
    *,
    limit_mb: int = DEFAULT_LIMIT_MB,
    progress: Callable[[str, int, int], None] | None = None,
    token: bool = True,
) -> LoadedModel:
    """A model of the hub, or of its cache on this computer. `progress` hears (stage, done, total), in bytes.

    Raises UnknownModel, NoNetwork, GatedModel, ModelNotKept and what `load_folder` raises.
    """
    fetching = hub.fetch(hub_id, limit_mb=limit_mb, accepts=model_class, token=token)
    try:
        while True:
            step = next(fetching)
            if progress is not None:
                progress(step.stage, step.done, step.total)
    except StopIteration as end:
        return load_folder(end.value, hub.hub_id(hub_id), limit_mb=limit_mb)
    finally:
        fetching.close()


def load_folder(folder: Path, name: str | None = None, *, limit_mb: int = DEFAULT_LIMIT_MB) -> LoadedModel:
    """The model in a folder with config.json, safetensors and, if it has one, a fast tokenizer.

    Without tokenizer files the model takes ids only. Raises UnknownModel, NoConfig, NoSafetensors, DamagedFile,
    ModelTooBig, NeedsRemoteCode, UnknownFamily, QuantizedModel, NotATextModel, WeightsDoNotFit, SlowTokenizer,
    NoAttentionSeen, BrokenModel.
    """
    folder = Path(folder)
    name = name or folder.resolve().name
    if not os.path.isdir(folder):
        raise hub.unknown(str(folder))
    read_config(folder, name)
    check_size(sum(parameters(file, name) for file in weights_files(folder, name)), limit_mb, name)
    with _quiet(), _named(folder, name):
        config, kind = configuration(folder, name)
        tokenizer = _tokenizer(folder, name)
        return wrap(_module(kind, folder, config, name), tokenizer, name)


def local_folder(name: str, folders_allowed: bool = True) -> Path | None:
    """The folder that a name speaks of, or None where it is to be looked for on the hub.

    Raises UnknownModel for a path that leads to no folder, FoldersClosed for any path where none may be opened.
    """
    name = name.strip()
    if re.match(r"https?://", name, re.IGNORECASE):
        return None
    is_path = bool(re.match(r"[./~\\]|[A-Za-z]:|file:", name)) or "\\" in name
    if not folders_allowed:
        if is_path:
            raise FoldersClosed(name=hub.shown(name))
        return None
    place = os.path.expanduser(name)
    if os.path.isdir(place) and (is_path or os.path.isfile(os.path.join(place, "config.json"))):
        return Path(place)
    if is_path:
        raise hub.unknown(name)
    return None


def model_class(folder: Path, name: str) -> type[nn.Module]:
    """The class that config.json asks for, checked for all that would speak against it; no weights are needed."""
    with _quiet(), _named(folder, name):
        return configuration(folder, name)[1]


def _module(kind: Any, folder: Path, config: Any, name: str) -> nn.Module:
    module, report = kind.from_pretrained(
        folder,
        config=config,
        dtype=torch.float32,
        use_safetensors=True,
        local_files_only=True,
        ignore_mismatched_sizes=True,  # reported below, with a sentence
        output_loading_info=True,
    )
    # A pooler sums up the last state for a classifier; nothing that is shown comes from it, and many models lack it.
    missing = [key for key in report["missing_keys"] if "pooler" not in key]
    wrong = sorted([*missing, *(str(key[0]) for key in report["mismatched_keys"])])
    if wrong:
        raise WeightsDoNotFit(name=name, count=len(wrong), first=wrong[0])
    return module


def _tokenizer(folder: Path, name: str) -> Any:
    """The fast tokenizer, or None where the folder has none at all."""
    if not any(any(folder.glob(kind)) for kind in _TOKENIZER_FILES):
        return None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as problem:
        if "trust_remote_code" in str(problem):
            raise NeedsRemoteCode(name=name) from problem
        if (folder / "tokenizer.json").is_file():
            raise
        raise SlowTokenizer(name=name) from problem  # what would turn it into a fast one is not installed
    if not tokenizer.is_fast:
        raise SlowTokenizer(name=name)
    # Without its vocabulary's file the library makes a tokenizer that knows nothing but its special tokens.
    return tokenizer if set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens) else None


@contextmanager
def _named(folder: Path, name: str) -> Iterator[None]:
    """A stranger's files can trip the library anywhere: whatever it raises becomes one short sentence."""
    try:
        yield
    except SeeThroughError:
        raise
    except Exception as problem:
        words = (str(problem).strip() or type(problem).__name__).splitlines()[0].replace(str(folder), "…")
        raise BrokenModel(name=name, reason=hub.shown(_PATH.sub("…", words), 200)) from problem


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no advice from the library while a model is loaded; afterwards all is as it was."""
    with _alone, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            yield
        finally:
            logging.set_verbosity(verbosity)
            if bars:
                logging.enable_progress_bar()
