"""Makes the README's pictures from the running app: `python -m tests.browser.pictures http://127.0.0.1:7860`."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[2] / "assets" / "pictures"
PICTURES = {  # name -> (path, width, height, scheme)
    "explore-light": ("/", 1440, 1180, "light"),
    "explore-dark": ("/", 1440, 1180, "dark"),
    "explore-phone-zh": ("/zh/", 360, 1180, "light"),
    "digit": ("/?model=digit-vit", 1440, 1180, "light"),
    "norm": ("/?panel=norm&hide=inputs,examples,status", 1440, 1180, "light"),
    "lens": ("/?panel=output&output=lens&hide=inputs,examples,status", 1440, 1060, "dark"),
    "translation": ("/?model=mini-translator&text=The%20red%20cup%20on%20the%20table%20is%20new.", 1440, 1180, "dark"),
}
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]


def main(address: str) -> None:
    """Photograph views of the page, once plotly.js has drawn them."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        for name, (path, width, height, scheme) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-US")
            page.goto(address + path)
            page.wait_for_selector("#stage .stt-plot[data-n]", timeout=30_000)
            page.wait_for_timeout(4_000)  # a link's own model has run by then
            page.screenshot(path=FOLDER / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
