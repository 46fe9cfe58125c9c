"""kept.py: made once, kept while it is asked for, bounded."""

from transformer.kept import Kept


def test_a_thing_is_made_once_and_the_one_longest_unasked_goes_first() -> None:
    kept, made = Kept[str, str](2), list[str]()

    def get(key: str) -> str:
        return kept.get_or_make(key, lambda: made.append(key) or key.upper())

    assert [get(key) for key in "aba"] == ["A", "B", "A"] and made == ["a", "b"]
    get("c")  # "b" was asked for longest ago
    get("a")
    assert made == ["a", "b", "c"]
    get("b")
    assert made == ["a", "b", "c", "b"]
