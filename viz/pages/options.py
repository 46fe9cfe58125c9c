"""What a visitor can set beside the run and the cell: each option has a name, which is also its name in a link.

A value travels as text, in links and from the browser, and is read by its option alone: whatever does not fit is as if
it had not been said.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

Options = tuple[tuple[str, str], ...]  # what was set, by name; what nobody has set is not in it


class Holder(Protocol):
    """What carries options: a `Selection`."""

    @property
    def options(self) -> Options: ...


class Option(Protocol):
    """A setting: `read` gives a value's one spelling, or None where it is no value of this option."""

    @property
    def name(self) -> str: ...

    def read(self, value: object) -> str | None: ...
    def text(self, holder: Holder) -> str:
        """The value as a control shows it."""


@dataclass(frozen=True)
class Choice:
    """One of several names; the first is the default. ("off", "on") is a switch."""

    name: str
    values: tuple[str, ...]

    def read(self, value: object) -> str | None:
        return value if isinstance(value, str) and value in self.values else None

    def of(self, holder: Holder) -> str:
        return given(holder, self) or self.values[0]

    def text(self, holder: Holder) -> str:
        return self.of(holder)


@dataclass(frozen=True)
class Switch:
    """On or off."""

    name: str
    default: bool = False

    def read(self, value: object) -> str | None:
        return {"on": "on", "off": "off", "true": "on", "false": "off"}.get(str(value).lower())

    def of(self, holder: Holder) -> bool:
        return (given(holder, self) or ("on" if self.default else "off")) == "on"

    def text(self, holder: Holder) -> str:
        return "on" if self.of(holder) else "off"


@dataclass(frozen=True)
class Whole:
    """A whole number from `least` to `most`; the run may have fewer, which its panel sees to."""

    name: str
    least: int = 0
    most: int = 99_999
    default: int | None = None

    def read(self, value: object) -> str | None:
        text = str(value)
        if isinstance(value, bool) or len(text) > 12 or not text.removeprefix("-").isdecimal() or not text.isascii():
            return None
        return str(int(text)) if self.least <= int(text) <= self.most else None

    def of(self, holder: Holder) -> int | None:
        found = given(holder, self)
        return self.default if found is None else int(found)

    def text(self, holder: Holder) -> str:
        found = self.of(holder)
        return "" if found is None else str(found)


@dataclass(frozen=True)
class Real:
    """A number from `least` to `most`."""

    name: str
    least: float
    most: float
    default: float

    def read(self, value: object) -> str | None:
        text = str(value)
        try:
            number = float(text) if len(text) <= 24 else math.nan
        except ValueError:
            return None
        return f"{number:.6g}" if self.least <= number <= self.most else None  # NaN is in no range

    def of(self, holder: Holder) -> float:
        found = given(holder, self)
        return self.default if found is None else float(found)

    def text(self, holder: Holder) -> str:
        return f"{self.of(holder):.6g}"


@dataclass(frozen=True)
class Line:
    """Free text; what is too long, or no text (half of a surrogate pair), is not read."""

    name: str
    longest: int = 2000

    def read(self, value: object) -> str | None:
        if not isinstance(value, str) or len(value) > self.longest or any("\ud800" <= one <= "\udfff" for one in value):
            return None
        return value

    def of(self, holder: Holder) -> str:
        return given(holder, self) or ""

    def text(self, holder: Holder) -> str:
        return self.of(holder)


def given(holder: Holder, option: Option) -> str | None:
    """What was set of an option, None where nothing was."""
    return dict(holder.options).get(option.name)


def with_option(options: Options, option: Option, value: object) -> Options:
    """The options with one set anew; a value that cannot be read changes nothing, None takes the option away."""
    kept = dict(options)
    if value is None:
        kept.pop(option.name, None)
    elif (read := option.read(value)) is not None:
        kept[option.name] = read
    return tuple(sorted(kept.items()))


def read_all(values: Mapping[str, str], known: Mapping[str, Option]) -> Options:
    """The options of a link: those that are known and can be read."""
    options: Options = ()
    for name, value in values.items():
        if name in known:
            options = with_option(options, known[name], value)
    return options
