"""Rules of the house that a machine can hold: walls, colours, words, versions. Each was tried once by breaking it."""

import ast
import json
import re
import string
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from transformer import errors
from transformer.messages import LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
CODE = sorted([*ROOT.glob("app.py"), *ROOT.glob("transformer/**/*.py"), *ROOT.glob("viz/**/*.py")])
OURS = {"transformer", "viz", "app"}
TORCH = {"torch", "transformers", "tokenizers", "safetensors", "huggingface_hub"}
# room -> (libraries it may not hold, the only modules of ours it may import; None: see `transformer` below)
WALLS = {
    "transformer": ({"gradio", "plotly", "viz", "app"}, None),
    "viz/figures": (
        {"gradio", "fastapi", "app"} | TORCH,
        ("transformer.messages", "transformer.visible", "viz.figures"),
    ),
    "viz/pages": (TORCH | {"app"}, ("transformer", "viz")),
}
COLOUR = re.compile(r"(?<![&\w])#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3})\b|\b(?:rgba?|hsla?)\(\s*\d", re.IGNORECASE)
IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
UNFINISHED = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)))


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def imports(file: Path) -> Iterator[str]:
    """Every module that the file imports, also inside functions; `from a import b` counts as `a` and `a.b`."""
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(file)} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def strings(file: Path) -> Iterator[str]:
    """Every string of the code, docstrings and the fixed parts of f-strings included."""
    return (node.value for node in nodes(file) if isinstance(node, ast.Constant) and isinstance(node.value, str))


@cache
def words(language: str) -> dict[str, str]:
    return json.loads((ROOT / "assets" / "messages" / f"{language}.json").read_text(encoding="utf-8"))


def fields(sentence: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None}


def error_classes(
    base: type[errors.SeeThroughError] = errors.SeeThroughError,
) -> Iterator[type[errors.SeeThroughError]]:
    for child in base.__subclasses__():
        yield from error_classes(child) if child.__subclasses__() else [child]


def calls(function: str) -> Iterator[tuple[Path, ast.Call]]:
    for file in CODE:
        for node in nodes(file):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
                yield file, node


def given(call: ast.Call, apart: tuple[str, ...] = ()) -> set[str] | None:
    """The keywords of a call; `None` when they are not all written out."""
    names = [keyword.arg for keyword in call.keywords]
    return None if None in names else {name for name in names if name is not None} - set(apart)


@pytest.mark.parametrize("room", WALLS)
def test_the_walls_stand(room: str) -> None:
    banned, doors = WALLS[room]
    files = [file for file in CODE if name_of(file).startswith(f"{room}/")]
    assert files
    for file in files:
        for module in imports(file):
            top = module.split(".")[0]
            assert top not in banned, f"{name_of(file)} may not import {module}"
            if doors and top in OURS and module not in ("transformer", "viz"):
                assert any(f"{module}.".startswith(f"{door}.") for door in doors), f"{name_of(file)}: {module}"


def test_messages_and_errors_stand_on_nothing() -> None:
    for file in ("transformer/errors.py", "transformer/messages.py", "transformer/__init__.py"):
        tops = {module.split(".")[0] for module in imports(ROOT / file)}
        assert tops <= set(sys.stdlib_module_names) | {"transformer"}, file


def test_colours_live_in_the_theme() -> None:
    for file in CODE:
        if name_of(file) != "viz/figures/theme.py":
            found = [colour for text in strings(file) for colour in COLOUR.findall(text)]
            assert not found, f"{name_of(file)} has colours of its own: {found}"


def test_words_for_readers_live_in_assets() -> None:
    for file in CODE:
        found = IDEOGRAPH.search(file.read_text(encoding="utf-8"))
        assert not found, f"{name_of(file)} holds a Chinese word: move it to assets/messages"


def test_nothing_is_left_for_later() -> None:
    for file in [*CODE, *ROOT.glob("tests/**/*.py"), *ROOT.glob("assets/**/*.js"), *ROOT.glob("*.md")]:
        assert not UNFINISHED.search(file.read_text(encoding="utf-8")), name_of(file)


def test_every_language_has_the_same_words_with_the_same_fields() -> None:
    english = words("en")
    for language in LANGUAGES:
        other = words(language)
        assert list(other) == sorted(other), f"{language}.json is not in order"
        assert other.keys() == english.keys(), other.keys() ^ english.keys()
        differing = [key for key in english if fields(english[key]) != fields(other[key])]
        assert not differing, differing
        assert all(text.strip() for text in other.values())


def test_every_message_asked_for_exists_and_gets_its_fields() -> None:
    asked = 0
    for file, call in calls("message"):
        key = call.args[0]
        if isinstance(key, ast.Constant):
            assert key.value in words("en"), f"{name_of(file)}:{call.lineno} asks for {key.value}"
            values = given(call, apart=("language",))
            assert values is None or values >= fields(words("en")[key.value]), f"{name_of(file)}:{call.lineno}"
            asked += 1
    assert asked


def test_every_error_has_its_sentence_and_gets_its_fields() -> None:
    for file in CODE:
        for node in nodes(file):  # errors that live beside the code that raises them have to be loaded to be seen
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Error") for base in node.bases):
                __import__(".".join(file.relative_to(ROOT).with_suffix("").parts))
    for error in error_classes():
        assert error().key in words("en"), f"{error.__name__} has no sentence"
        expected = fields(words("en")[error().key])
        for file, call in calls(error.__name__):
            values = given(call)
            assert values is None or values >= expected, f"{name_of(file)}:{call.lineno} lacks {expected - values}"


def test_every_message_is_used() -> None:
    said = {text for file in CODE for text in strings(file)} | {error().key for error in error_classes()}
    scripts = "".join(file.read_text(encoding="utf-8") for file in ROOT.glob("assets/**/*.js"))
    heads = {text for text in said if re.fullmatch(r"[a-z_]+\.([a-z_0-9]+[._])*", text)}  # of f"pack.{stage}"
    unused = [key for key in words("en") if key not in said and key not in scripts and not key.startswith(tuple(heads))]
    assert not unused, unused


def requirements() -> dict[str, str]:
    """Library -> its versions, from requirements.txt."""
    lines = (line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines())
    parts = (re.match(r"([\w-]+)(.+)", line) for line in lines if line)
    return {part[1]: part[2].strip() for part in parts if part}


def test_every_library_is_named_with_the_versions_that_were_tried() -> None:
    wanted = requirements()
    used = {module.split(".")[0] for file in CODE for module in imports(file)}
    assert used - OURS - set(sys.stdlib_module_names) <= set(wanted)
    assert all(re.match(r"==|>=", versions) for versions in wanted.values()), wanted
    for pinned in ("torch", "gradio", "plotly"):  # the page and the weights depend on the very version
        assert wanted[pinned].startswith("==")


def test_the_space_runs_the_gradio_that_was_tested() -> None:
    header = (ROOT / "README.md").read_text(encoding="utf-8").split("---")[1]
    settings = dict(re.findall(r"^(\w+): *\"?([^\"\n]+)\"?$", header, re.MULTILINE))
    assert f"=={settings['sdk_version']}" == requirements()["gradio"]
    assert settings["sdk"] == "gradio" and settings["app_file"] == "app.py"
