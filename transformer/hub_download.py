"""Brings one model of the hub into the Hugging Face cache.

Runs as its own process, `python -m transformer.hub_download OWNER/NAME [--no-token]`: `huggingface_hub` reads
HF_ENDPOINT, HF_HUB_OFFLINE, HF_HOME, … once, when it is imported, so each download starts it afresh; and a process can
be stopped at any moment. It speaks in lines of JSON: what it found, how far it is, and at the end where the files lie
or what was in the way. Files come over plain HTTP, which mirrors understand; a file that was cut off goes on where it
stopped, also in a later process, and is kept only if its hash is right. `refs/main` names a snapshot only once that is
whole.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from huggingface_hub import HfApi, constants, hf_hub_download, hf_hub_url
from huggingface_hub.errors import DisabledRepoError, GatedRepoError, HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.errors import HTTPError as TransportError  # type: ignore[attr-defined]  # of its HTTP library
from huggingface_hub.file_download import http_get, repo_folder_name
from huggingface_hub.hf_api import ModelInfo, RepoSibling
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

from transformer.errors import ModelError
from transformer.weights_size import INDEX, WHOLE, shards, weights_files

# Everything else of a repository stays there: pickles, other frameworks' copies, pictures, code.
_SMALL = re.compile(
    r"(config|generation_config|tokenizer.*|special_tokens_map|added_tokens|vocab|tekken)\.json"
    r"|(vocab|merges)\.txt|(spiece|tokenizer|sentencepiece.*)\.model|.*\.(spm|tiktoken)"
)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_HEX = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # git's sha1, or sha256
_TICK_SECONDS = 0.1
_CHUNK = 1 << 16


class _Stopped(Exception):
    """The download ends here; the line for the caller is in `values`."""

    def __init__(self, problem: str, **values: object) -> None:
        super().__init__(problem)
        self.values = {"problem": problem, **values}


class _Bar:
    """What `http_get` takes for a progress bar: it adds to the bytes of the whole model."""

    done = total = 0
    _told = 0.0

    def __init__(self, **_: object) -> None:
        pass

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, count: int) -> None:
        _Bar.done += count
        if time.monotonic() - _Bar._told > _TICK_SECONDS:
            _Bar._told = time.monotonic()
            tell(stage="download", done=_Bar.done, total=_Bar.total)


def tell(**values: object) -> None:
    """One line for the caller."""
    print(json.dumps(values), flush=True)  # noqa: T201


def bring(hub_id: str, token: bool) -> Path:
    """The folder of the model's newest snapshot, or of the one in the cache where the hub cannot be reached."""
    storage = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=hub_id, repo_type="model")
    api = HfApi(token=None if token else False)
    try:
        if constants.HF_HUB_OFFLINE:
            raise ConnectionError("HF_HUB_OFFLINE is set")
        info = api.model_info(hub_id, files_metadata=True, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except (TransportError, OSError, ValueError, KeyError, TypeError) as problem:
        stopped = _named(problem)
        folder = _cached(storage, hub_id)
        if stopped.values["problem"] == "network" and folder is not None:
            return folder
        raise stopped from problem
    try:
        return _Download(hub_id, info, storage, token).run()
    except (TransportError, OSError) as problem:
        raise _named(problem) from problem


def _named(problem: Exception) -> _Stopped:
    """What was in the way. Only the hub's own words count: a 404 of a proxy or a log-in page tells nothing."""
    if isinstance(problem, GatedRepoError):
        return _Stopped("gated")
    if isinstance(problem, RepositoryNotFoundError | DisabledRepoError):
        return _Stopped("unknown")
    if isinstance(problem, HfHubHTTPError):
        refused = problem.response.status_code in (401, 403) and "X-Error-Message" in problem.response.headers
        return _Stopped("gated") if refused else _Stopped("network", endpoint=constants.ENDPOINT)
    if isinstance(problem, OSError) and (problem.errno in _NO_ROOM or problem.filename):  # of the disk, not the line
        free = shutil.disk_usage(_existing(Path(constants.HF_HUB_CACHE))).free
        return _Stopped("not_kept", needed=_Bar.total, free=free, detail=problem.strerror)
    return _Stopped("network", endpoint=constants.ENDPOINT)


def _cached(storage: Path, hub_id: str) -> Path | None:
    """The snapshot that `refs/main` names, if it holds a whole model."""
    try:
        folder = storage / "snapshots" / (storage / "refs" / "main").read_text(encoding="utf-8").strip()
        weights_files(folder, hub_id)
    except (OSError, ModelError):
        return None
    return folder if (folder / "config.json").is_file() else None


class _Download:
    """One snapshot on its way into the cache folder `storage`."""

    def __init__(self, hub_id: str, info: ModelInfo, storage: Path, token: bool) -> None:
        if not _HEX.fullmatch(info.sha or ""):  # it becomes a folder's name, so nothing else may pass
            raise _Stopped("network", endpoint=constants.ENDPOINT)
        self.hub_id, self.commit, self.storage = hub_id, str(info.sha), storage
        self.token: bool | None = None if token else False
        self.files = {file.rfilename: file for file in info.siblings or () if "/" not in file.rfilename}
        self.parameters = info.safetensors.total if info.safetensors else None
        self.folder = storage / "snapshots" / self.commit

    def run(self) -> Path:
        """Fetches what is missing: first what is needed to decide, then, once the caller agrees, the rest."""
        sharded = WHOLE not in self.files
        if sharded and INDEX not in self.files:
            raise _Stopped("no_safetensors")
        if "config.json" not in self.files:
            raise _Stopped("no_config")
        self._fetch_missing(["config.json", *([INDEX] if sharded else [])])
        weights = shards(self.folder / INDEX, self.hub_id) if sharded else [WHOLE]
        lost = [shard for shard in weights if shard not in self.files]
        if lost:
            raise _Stopped("damaged", file=lost[0])
        size = sum(self.files[shard].size or 0 for shard in weights)
        tell(folder=str(self.folder), parameters=self.parameters, size=size)
        if not sys.stdin.readline():  # the caller does not want it, or is gone
            sys.exit(0)
        small = [name for name in self.files if _SMALL.fullmatch(name)]
        self._fetch_missing([*small, *weights])
        self._point()
        return self.folder

    def _fetch_missing(self, names: list[str]) -> None:
        missing = [name for name in names if not (self.folder / name).exists()]
        _Bar.total = sum(self.files[name].size or 0 for name in names)
        _Bar.done = _Bar.total - sum(self.files[name].size or 0 for name in missing)
        if not missing:  # so that a cache that may only be read is enough
            return
        room = shutil.disk_usage(_existing(self.storage)).free
        if room < _Bar.total - _Bar.done:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with self._alone():
            for name in missing:
                if not (self.folder / name).exists():
                    self._fetch(self.files[name])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two downloads of one model take turns: who comes second finds the files there."""
        locks = self.storage.parent / ".locks" / self.storage.name
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / "see-through.lock")
        while not lock.is_locked:
            try:
                lock.acquire(timeout=_TICK_SECONDS)
            except Timeout:
                tell(stage="wait", done=0, total=_Bar.total)
        try:
            yield
        finally:
            lock.release()

    def _fetch(self, file: RepoSibling) -> None:
        """The bytes go into `blobs` under their hash, as the cache has it; `hf_hub_download` then gives them a name."""
        digest = file.lfs.sha256 if file.lfs else file.blob_id
        if digest and _HEX.fullmatch(digest) and file.size is not None:
            blob = self.storage / "blobs" / digest
            blob.parent.mkdir(parents=True, exist_ok=True)
            if not blob.exists():
                self._fetch_blob(file.rfilename, blob, file.size, whole_file=bool(file.lfs))
        hf_hub_download(self.hub_id, file.rfilename, revision=self.commit, token=self.token)

    def _fetch_blob(self, name: str, blob: Path, size: int, whole_file: bool) -> None:
        part = blob.with_name(f"{blob.name}.see-through.incomplete")
        with part.open("ab") as out:
            here = out.tell() if out.tell() <= size else out.truncate(0)
            _Bar.done += here
            url = hf_hub_url(self.hub_id, name, revision=self.commit)
            headers = build_hf_headers(token=self.token)
            http_get(url, out, resume_size=here, headers=headers, expected_size=size, tqdm_class=_Bar)
        if _digest(part, whole_file) != blob.name:
            part.unlink()
            raise _Stopped("damaged", file=name)
        os.replace(part, blob)

    def _point(self) -> None:
        """`refs/main` names the snapshot that is served when the hub cannot be reached."""
        ref = self.storage / "refs" / "main"
        if ref.is_file() and ref.read_text(encoding="utf-8") == self.commit:
            return
        ref.parent.mkdir(parents=True, exist_ok=True)
        fresh = ref.with_name(f"main.{os.getpid()}.tmp")
        fresh.write_text(self.commit, encoding="utf-8")
        os.replace(fresh, ref)


def _digest(file: Path, whole_file: bool) -> str:
    """sha256 of a large file; git's own sha1, which puts a header in front, of a small one."""
    digest = hashlib.sha256() if whole_file else hashlib.sha1(f"blob {file.stat().st_size}\0".encode())
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def main(arguments: list[str]) -> int:
    """Ends with a line that holds "ready" or "problem"."""
    constants.DOWNLOAD_CHUNK_SIZE = _CHUNK  # 10 MB would leave a slow line without news for minutes
    hub_id, *options = arguments
    try:
        tell(ready=str(bring(hub_id, token="--no-token" not in options)))
    except _Stopped as stopped:
        tell(**stopped.values)
    except ModelError as error:
        tell(problem="damaged", file=error.values["file"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
