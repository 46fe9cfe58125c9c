"""What all tests share: quiet libraries, the model packs, a Chromium (`python tests/conftest.py` prints which one)."""

import os
import shutil
import sys
from pathlib import Path

import pytest

# Before any library is imported: they read these once.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_OFFLINE"] = "1"  # no test may lean on the network, not even by accident
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["OMP_NUM_THREADS"] = (
    "1"  # torch and NumPy: a test of threads or time means little when each call takes all cores
)

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
NO_CHROMIUM = "no Chromium found: install chromium, name one with CHROMIUM=, or run `playwright install chromium`"


def find_chromium() -> str | None:
    """The browser to drive: `CHROMIUM`, then the usual names, then the one that playwright fetched."""
    named = os.environ.get("CHROMIUM")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, _NAMES)), None)
    if found or named:
        return found
    if _MAC.exists():
        return str(_MAC)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


@pytest.fixture(scope="session")
def chromium_path() -> str:
    path = find_chromium()
    if path is None:
        pytest.skip(NO_CHROMIUM)
    return path


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    """The folder of the SmolLM2 pack; fetched and converted into the reader's own cache the first time."""
    return _pack_folder("smollm2")


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The folder of the MiniLM pack."""
    return _pack_folder("minilm")


def _pack_folder(name: str) -> Path:
    from transformer import packs
    from transformer.errors import PackError

    try:
        for _ in packs.add(name):
            pass
    except PackError as error:
        pytest.skip(str(error))
    return packs.pack_folder(name)


if __name__ == "__main__":
    chromium = find_chromium()
    print(chromium or NO_CHROMIUM)
    sys.exit(chromium is None)
