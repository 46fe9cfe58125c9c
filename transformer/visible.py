r"""Text that a person can see: white space, control characters and broken bytes get a printed form, the rest stays.

A space becomes "·", a newline "↵", a tab "→"; what has no ink of its own (control, bidi and zero-width characters,
other spaces, unassigned and private code points) becomes its escape, "\u202e" or "\U000e0041"; bytes that are no UTF-8
become "⟨E5 B0⟩". Unicode properties come from `regex`, whose tables are newer than Python's: a new emoji is assigned.
"""

import regex

# What draws nothing: control, format, surrogate, private, unassigned (C), spaces (Z), default ignorable (zero-width
# joiners, fillers, variation selectors), the blank braille pattern. Not the format characters that do draw, such as
# Arabic number signs.
_HIDDEN = r"[[\p{C}\p{Z}\p{DI}\u2800]--[\p{Prepended_Concatenation_Mark}]]"

# Hidden characters that belong to the picture of their grapheme, and only there. Elsewhere the same characters change
# nothing that can be seen, so they are shown: "zero\u200dwidth", or a secret message written in tags or selectors.
_RENDERED = r"""
    \p{Emoji}[\uFE0E\uFE0F]                                   # text or emoji style of one symbol
  | [\p{Han}\p{Sm}][\uFE00-\uFE0D\U000E0100-\U000E01EF]       # a variant of one Han or mathematical sign
  | (?<=\p{ExtPict}\uFE0F?\p{EMod}?)\u200D(?=\p{ExtPict})     # joins emoji: family, flag
  | (?<=\p{ccc=9})\u200D                                      # after a virama: chooses the form of an Indic conjunct
  | \U0001F3F4\U000E0067\U000E0062(?:\U000E0065\U000E006E\U000E0067|\U000E0073\U000E0063\U000E0074
        |\U000E0077\U000E006C\U000E0073)\U000E007F            # flags of England, Scotland, Wales
"""
_PART = regex.compile(rf"(?P<rendered>{_RENDERED})|(?P<hidden>{_HIDDEN})", regex.VERSION1 | regex.VERBOSE)
_LONE_MARK = regex.compile(r"^(?=\p{M})(?!\p{DI})")
_BROKEN = regex.compile("[\udc80-\udcff]+")  # where `surrogateescape` puts the bytes that it cannot decode
_SIGNS = {" ": "·", "\n": "↵", "\t": "→"}


def visible(text: str) -> str:
    """The text with nothing invisible in it; a combining mark without its letter stands on a dotted circle.

    Any `str` is fine, lone surrogates too. Not reversible: "·" is also a Chinese name's dot, which stays as typed.
    """
    return _PART.sub(_shown, _LONE_MARK.sub("\u25cc", text))


def visible_bytes(data: bytes) -> str:
    """`visible` for bytes that may begin or end inside a character: b" \\xe5\\xb0" is "·⟨E5 B0⟩"."""
    text = data.decode("utf-8", "surrogateescape")
    parts, done = [], 0
    for broken in _BROKEN.finditer(text):
        parts.append(visible(text[done : broken.start()]))
        parts.append(f"⟨{broken.group().encode('utf-8', 'surrogateescape').hex(' ').upper()}⟩")
        done = broken.end()
    return "".join(parts) + visible(text[done:])


def _shown(part: regex.Match) -> str:
    character = part.group()
    if part.group("rendered"):
        return character
    code = ord(character)
    return _SIGNS.get(character) or (rf"\u{code:04x}" if code < 0x10000 else rf"\U{code:08x}")
