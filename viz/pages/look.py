"""The look of the pages: what stands in their head, the row above them, and Gradio's controls in our colours."""

import json
from pathlib import Path

import gradio as gr

from transformer.messages import message
from viz.figures import theme
from viz.pages.packed import Packed

ASSETS = Path(__file__).parents[2] / "assets"
TAGS = {"en": "en", "zh": "zh-CN"}  # what browsers and Gradio call our languages
# What our scripts say by themselves.
WORDS = (
    "copied", "copy_failed", "link_copied", "table", "take", "take_png", "take_svg", "take_html", "take_csv",
    "take_npz", "take_py",
)  # fmt: skip
# The page until Gradio has started, see assets/js/stand_in.js.
STAND_IN = '<div id="stt-stand-in" class="gradio-container" aria-hidden="true"></div><script>stt.standIn();</script>'


def page_head(language: str, ours: Packed, library: Packed) -> str:
    """What stands in the raw page: words and colours for the scripts, style, and the scripts, before Gradio's own."""
    up = "" if language == "en" else "../"
    words = {name: message(f"page.{name}", language) for name in WORDS}
    facts = json.dumps({"language": TAGS[language], "words": words, "dark": theme.DARK_OF}).replace("<", "\\u003c")
    # Nested, so that the look of our pieces outweighs what Gradio says about every button.
    pieces = f".gradio-container.gradio-container {{\n{theme.component_css()}\n}}\n"
    style = theme.css_variables() + pieces + (ASSETS / "style.css").read_text(encoding="utf-8")
    return (
        f"<title>{message('page.title', language)}</title>\n"
        f"<script>window.sttPage = {facts};</script>\n"
        f"<style>{style}</style>\n"
        f'<script src="{up}stt/{ours.name}" data-plotly="{library.name}"></script>\n'
    )


def page_header(language: str) -> str:
    """The row above the page: name, promise, language, light or dark, link. Links work before any script has come."""

    def say(name: str) -> str:
        return message(f"page.{name}", language)

    other, path, href = ("zh", "zh/", "zh/") if language == "en" else ("en", "../", "../?lang=en")
    return (
        '<header class="stt-header">'
        f'<a class="stt-skip" data-stt="skip" href="#text">{say("skip")}</a>'
        f'<h1 class="stt-name">{say("title")}</h1><p class="stt-promise">{say("promise")}</p>'
        f'<nav class="stt-nav" aria-label="{say("pages")}"><a aria-current="page" href="./">{say("explore")}</a></nav>'
        '<div class="stt-tools">'
        f'<a id="language" data-stt="language" data-language="{other}" data-path="{path}" href="{href}"'
        f' lang="{TAGS[other]}">{say("other_language")}</a>'
        f'<button type="button" data-stt="theme" aria-label="{say("toggle_theme")}" title="{say("toggle_theme")}">'
        "◐</button>"
        f'<button type="button" data-stt="link" title="{say("copy_link")}">{say("link")}</button>'
        "</div></header>"
    )


def gradio_theme() -> gr.themes.Base:
    """Gradio's own controls in our colours; fonts of the system, so that none is fetched."""
    colours = {
        "body_background_fill": "var(--stt-paper)",
        "body_text_color": "var(--stt-ink)",
        "body_text_color_subdued": "var(--stt-muted)",
        "background_fill_primary": "var(--stt-card)",
        "background_fill_secondary": "var(--stt-soft)",
        "block_background_fill": "var(--stt-card)",
        "block_border_color": "var(--stt-line)",
        "block_label_background_fill": "transparent",
        "block_label_text_color": "var(--stt-muted)",
        "block_title_text_color": "var(--stt-muted)",
        "block_info_text_color": "var(--stt-muted)",
        "border_color_primary": "var(--stt-line)",
        "border_color_accent": "var(--stt-accent)",
        "color_accent_soft": "var(--stt-soft)",
        "input_background_fill": "var(--stt-card)",
        "input_border_color": "var(--stt-line)",
        "input_border_color_focus": "var(--stt-accent)",
        "input_placeholder_color": "var(--stt-muted)",
        "link_text_color": "var(--stt-accent)",
        "button_primary_background_fill": "var(--stt-accent)",
        "button_primary_background_fill_hover": "var(--stt-accent)",
        "button_primary_text_color": "var(--stt-on-accent)",
        "button_secondary_background_fill": "var(--stt-card)",
        "button_secondary_background_fill_hover": "var(--stt-soft)",
        "button_secondary_text_color": "var(--stt-ink)",
        "button_secondary_border_color": "var(--stt-line)",
        "slider_color": "var(--stt-accent)",
        "loader_color": "var(--stt-accent)",
    }
    both = {**colours, **{f"{name}_dark": value for name, value in colours.items()}}
    flat = dict.fromkeys(("block_shadow", "input_shadow", "button_primary_shadow"), "none")
    base = gr.themes.Base(font=["var(--stt-font)"], font_mono=["ui-monospace", "monospace"], radius_size="lg")
    return base.set(**both, **flat, block_border_width="1px")
