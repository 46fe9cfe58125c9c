"""small_language.py and its grammar: what a sentence says about itself is true, and its slots have one answer."""

import json
import random
from collections import Counter
from functools import cache

import pytest

from transformer.grammar import Grammar, PairGrammar
from transformer.piece_tokenizer import PieceTokenizer
from transformer.small_language import KINDS, LANGUAGES, Sentence, SmallLanguage, is_held_out, joined, told
from transformer.word_tables import FOLDER

OURS = SmallLanguage.load()
TOKENIZER = PieceTokenizer(OURS.pieces(), add_bos=False)
EACH = [(language, kind) for language in LANGUAGES for kind in KINDS]


@cache
def content(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def rows(name: str, table: str) -> list[list[str]]:
    """The rows of a table, cell by cell."""
    return [[cell.strip() for cell in row.split("|")] for row in content(name)["tables"][table]["rows"]]


def made(count: int, language: str, kind: str, held_out: bool = False) -> list[Sentence]:
    dice = random.Random(f"{language} {kind}")
    return [OURS.sentence(dice, kind, language, held_out) for _ in range(count)]


def word(text: str, span: tuple[int, int]) -> str:
    return text[slice(*span)].strip()


def trimmed(name: str, size: int = 3) -> dict:
    """The content of a language with the first words of each table only, so that sentences meet again."""
    whole = content(name)
    tables = dict(whole["tables"])
    for key, table in tables.items():
        if "rows" in table:
            tables[key] = dict(table, rows=table["rows"][:size])
    return dict(whole, tables=tables)


def test_the_sentences_of_the_tutorials_are_sentences_of_ours():
    english = {"I like you.", "I like to code.", "How are you?", "That is it."}
    english |= {"A man went through the Big Buddhist Temple."}
    chinese = {"我喜欢你。", "你喜欢我。", "我打你。", "你打我。", "我喜欢深度学习。", "我喜欢快乐地学习大模型。"}
    chinese |= {"雍和宫的荷花开的很好。"}
    found = drafts("en", "plain", 9000) & english | drafts("zh", "plain", 20_000) & chinese
    found |= drafts("en", "pronoun", 15_000) & {"The apple is tasty, I like it."}
    found |= drafts("zh", "cause", 9000) & {"小明因为考试得了满分，所以非常开心。"}
    assert len(found) == len(english) + len(chinese) + 2
    for text in found:
        for typed in (text, text[:-1]):
            assert not any(map(TOKENIZER.is_byte, TOKENIZER.encode(typed).ids)), typed


def drafts(language: str, kind: str, count: int) -> set[str]:
    """Texts of this kind, also those that are held out."""
    dice = random.Random(2)
    return {joined(OURS._grammars[language].draft(kind, dice).tokens, language)[0] for _ in range(count)}


@pytest.mark.parametrize(("language", "kind"), EACH)
def test_the_tokenizer_cuts_a_sentence_into_the_words_of_the_grammar(language, kind):
    dice = random.Random(3)
    for _ in range(500):
        text, spans = joined(OURS._grammars[language].draft(kind, dice).tokens, language)
        cut = TOKENIZER.encode(text)
        assert list(cut.spans) == spans, text
        assert not any(map(TOKENIZER.is_byte, cut.ids)), text


def test_chinese_words_that_meet_by_chance_do_not_merge():
    words = {entry["word"].tokens[0] for entry in OURS._grammars["zh"]._repeated}
    for first in words:
        for second in words - {first}:
            assert [len(data.decode()) for data in TOKENIZER.encode(first + second).bytes] == [len(first), len(second)]


def test_the_tokenizer_cuts_stories_and_pairs_where_they_point():
    dice = random.Random(7)
    for number in range(800):
        story, pair = OURS.story(dice, held_out=number % 5 == 0), OURS.pair(dice)
        sides = zip(*pair.alignment, strict=True) if pair.alignment else ((), ())
        ends = [end for link in story.links for end in (link.query, link.key)] + [slot.at for slot in story.slots]
        for text, spans in zip((story.text, pair.english, pair.chinese), (ends, *sides), strict=True):
            cut = TOKENIZER.encode(text)
            assert set(spans) <= set(cut.spans), text
            assert not any(map(TOKENIZER.is_byte, cut.ids)), text
        assert 3 <= len(TOKENIZER.encode(pair.english).ids) <= 16


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_slot_has_one_answer(language):
    """With few words the same beginnings come again and again; what follows a beginning at a slot must never change."""
    grammar, dice = Grammar(trimmed(language)), random.Random(11)
    following, slots, met = dict[tuple, set](), dict[tuple, str](), Counter[tuple]()
    for _ in range(20_000):
        kind = dice.choice(KINDS)
        draft = grammar.draft(kind, dice)
        for place, token in enumerate(draft.tokens):
            following.setdefault(tuple(draft.tokens[:place]), set()).add(token)
        slots |= {tuple(draft.tokens[:place]): kind for place, _ in draft.slots}
        met.update(tuple(draft.tokens[:place]) for place, _ in draft.slots)
    for before in slots:
        assert len(following[before]) == 1, (before, following[before])
    assert {slots[before] for before, times in met.items() if times > 1} == set(KINDS) - {"plain"}


@pytest.mark.parametrize(("language", "kind"), EACH)
def test_wrong_words_are_wrong_and_single_tokens(language, kind):
    for sentence in made(100, language, kind):
        assert bool(sentence.slots) == (kind != "plain")
        for slot in sentence.slots:
            answer = sentence.text[slice(*slot.at)]
            assert slot.wrong and answer not in slot.wrong and len(set(slot.wrong)) == len(slot.wrong)
            assert all(len(TOKENIZER.encode(wrong).ids) == 1 for wrong in slot.wrong)
            assert slot.kind == kind


def test_a_verb_agrees_with_the_noun_that_it_points_to():
    plural = {row[1] for table in ("thing", "animal") for row in rows("en", table)} | {"keys"}
    for sentence in made(300, "en", "agreement"):
        (link,), (slot,) = sentence.links, sentence.slots
        assert link.query == slot.at
        assert (word(sentence.text, slot.at) in ("are", "were")) == (word(sentence.text, link.key) in plural)
        assert (word(sentence.text, slot.at) in ("was", "were")) == sentence.text.startswith("Yesterday")


def test_a_measure_word_is_that_of_its_noun():
    fits = {row[0]: row[-1] for table in ("thing", "animal") for row in rows("zh", table)}
    for sentence in made(300, "zh", "agreement"):
        for link in sentence.links:
            assert fits[word(sentence.text, link.key)] == word(sentence.text, link.query)


def test_it_is_the_first_animal_and_makes_its_sound():
    names = {row[0]: row for row in rows("en", "animal")}
    places = set()
    for sentence in made(600, "en", "pronoun"):
        (link,) = sentence.links
        if word(sentence.text, link.query) != "it" or " like it" in sentence.text:
            continue
        animals = [token for token in sentence.text.replace(",", " ").replace(".", " ").split() if token in names]
        assert word(sentence.text, link.key) == animals[0]
        said = [word(sentence.text, slot.at) for slot in sentence.slots]
        assert said == (names[animals[0]][2:3] if len(said) == 1 else names[animals[0]][3:])
        places.add(len(TOKENIZER.encode(sentence.text[: link.key[0]]).ids))
    assert len(places) >= 4, "its place alone would tell the antecedent"


@pytest.mark.parametrize(("language", "she", "he"), [("en", "she", "he"), ("zh", "她", "他")])
def test_she_and_he_are_the_one_of_that_kind_and_do_what_they_always_do(language, she, he):
    habits = {row[0]: row[1:] for table in ("female", "male") for row in rows(language, table)}
    heard = Counter()
    for sentence in made(600, language, "pronoun"):
        (link,), slot, text = sentence.links, sentence.slots[0], sentence.text
        if word(text, link.query) in (she, he):
            key = word(text, link.key)
            assert habits[key] == [word(text, slot.at), word(text, link.query)]
            assert slot.at[0] == link.query[1], "what follows a pronoun must need the one it means"
            heard[text.index(key) == min(text.index(name) for name in habits if name in text)] += 1
    assert min(heard[True], heard[False]) > 50


@pytest.mark.parametrize("language", LANGUAGES)
def test_brackets_close_what_they_opened(language):
    closing = {pair[0]: pair[-1] for pair in content(language)["brackets"]}
    for sentence in made(200, language, "bracket"):
        stack, pairs = [], set()
        for at, sign in enumerate(sentence.text):
            if sign in closing:
                stack.append(at)
            elif sign in closing.values():
                opened = stack.pop()
                assert closing[sentence.text[opened]] == sign
                pairs.add((at + 1, opened + 1))
        assert not stack and {(link.query[1], link.key[1]) for link in sentence.links} == pairs
        assert sorted(slot.at[1] for slot in sentence.slots) == sorted(close for close, _ in pairs)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pattern_repeats(language):
    for sentence in made(100, language, "repeat"):
        tokens = [token.strip("·") for token in TOKENIZER.encode(sentence.text).tokens[:-1]]
        length = len(set(tokens))
        assert 2 <= length <= 12 and tokens == tokens[:length] * (len(tokens) // length)
        assert len(sentence.slots) == (len(tokens) // length - 1) * (length - 1) == len(sentence.links)
        for link in sentence.links:
            assert word(sentence.text, link.query) == word(sentence.text, link.key) and link.key < link.query


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_did_it_comes_back_as_the_one_to_whom(language):
    forms = {"I": "me", "they": "them", "he": "him", "she": "her"}
    for sentence in made(200, language, "give") + made(200, language, "like"):
        assert sentence.links
        for link in sentence.links:
            answer, key = (word(sentence.text, span) for span in (link.query, link.key))
            person, other = (answer, key) if answer in forms else (key if key == "I" else key.lower(), answer)
            assert answer.lower() == key.lower() or forms[person] == other
            assert link.key < link.query


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_cause_has_one_effect(language):
    effects = {row[0].split("*")[1].split()[0]: row[1] for row in rows(language, "cause")}
    assert len(effects) >= 12 and len(set(effects.values())) == len(effects)
    for sentence in made(200, language, "cause"):
        for link in sentence.links:
            assert effects[word(sentence.text, link.key)] == word(sentence.text, link.query)


def test_one_sentence_in_ten_is_held_out():
    assert is_held_out("How are you?") and not is_held_out("I like you.")
    for language, kind in EACH:
        assert not any(is_held_out(sentence.text) for sentence in made(30, language, kind))
        assert all(is_held_out(sentence.text) for sentence in made(10, language, kind, held_out=True))
    dice = random.Random(4)
    ends = Counter[str]()
    for held in (True, False) * 60:
        pair = OURS.pair(dice, held_out=held)
        assert is_held_out(pair.english) == held
        ends[pair.english[-1] + pair.chinese[-1]] += 1
    assert ends[".。"] > 50 and sum(ends[end] for end in (".。", "?？")) < 120, "some go without their last sign"
    assert all((end[0] in ".?") == (end[1] in "。？") for end in ends)


def test_a_story_is_its_sentences_one_after_the_other():
    for language, gap in (("en", " "), ("zh", "")):
        parts = [made(1, language, kind)[0] for kind in ("give", "agreement", "pronoun")]
        story = told(parts)
        assert story.text == gap.join(part.text for part in parts) and story.kind == "story"
        for shifted, link in zip(story.links, [link for part in parts for link in part.links], strict=True):
            part = next(part for part in parts if link in part.links)
            assert shifted.kind == part.kind
            assert word(story.text, shifted.key) == word(part.text, link.key)
            assert word(story.text, shifted.query) == word(part.text, link.query)
        assert len(story.slots) == sum(len(part.slots) for part in parts)


def test_the_same_dice_make_the_same_language():
    assert SmallLanguage.load() is OURS
    assert OURS.story(random.Random(1)) == OURS.story(random.Random(1))
    assert OURS.pair(random.Random(1)) == OURS.pair(random.Random(1))
    assert len({sentence.text for language, kind in EACH for sentence in made(300, language, kind)}) > 3500


def test_english_alone_decides_the_chinese():
    pairs, dice = PairGrammar(trimmed("pairs")), random.Random(8)
    translation = {}
    for _ in range(12_000):
        source, target = pairs.draft(dice)
        english, chinese = joined(source.tokens, "en")[0], joined(target.tokens, "zh")[0]
        assert translation.setdefault(english, chinese) == chinese
    assert 1500 < len(translation) < 11_000, "too few to say anything, or none met twice"


def test_pairs_of_the_tutorials_and_of_another_order():
    assert {("I like you.", "我喜欢你。"), ("You like me.", "你喜欢我。"), ("How are you", "你好吗")} <= pairs_seen()
    dice, found = random.Random(9), False
    while not found:
        pair = OURS.pair(dice)
        found = pair.english.startswith("The ") and " on the " in pair.english
    (*_, (_, table), (_, quality)) = pair.alignment
    assert table[0] == 0 and quality[1] == len(pair.chinese.rstrip("。")) - 1 and "上的" in pair.chinese


@cache
def pairs_seen() -> set[tuple[str, str]]:
    dice = random.Random(10)
    return {(pair.english, pair.chinese) for pair in (OURS.pair(dice) for _ in range(16_000))}


def test_aligned_words_are_translations():
    known = set()
    for table in content("pairs")["tables"].values():
        chinese = table["forms"].index("zh")
        for row in table["rows"]:
            cells = [cell.strip().split("*")[-1] for cell in row.split("|")]
            known |= {(cell, cells[chinese]) for cell in cells[:chinese]}
    marked = {("like", "喜欢"), ("likes", "喜欢"), ("went", "去"), ("went", "穿过"), ("has", "有"), ("have", "有")}
    marked |= {("it", "它"), ("This", "这"), ("I", "我"), ("tasty", "好吃"), ("today", "今天")}
    dice = random.Random(12)
    for _ in range(1500):
        pair = OURS.pair(dice)
        assert pair.alignment or pair.english.startswith("How are you")
        assert [span for span, _ in pair.alignment] == sorted({span for span, _ in pair.alignment})
        assert len({span for _, span in pair.alignment}) == len(pair.alignment)
        for english, chinese in pair.alignment:
            assert (word(pair.english, english), word(pair.chinese, chinese)) in known | marked


def test_the_vocabulary_is_small_and_every_piece_has_a_class():
    pieces = OURS.pieces()
    assert TOKENIZER.vocab_size <= 1100 and list(pieces) == sorted(set(pieces))
    assert None not in map(OURS.word_class, pieces)
    expected = {
        "name": (" Mary", "Mary", "小明", "玛丽"),
        "animal": (" dog", "mice", "蜜蜂"),
        "thing": (" keys", "杯子"),
        "place": (" park", "公园"),
        "verb": (" gave", " barked", "喜欢"),
        "adjective": (" hungry", "开心", "红"),
        "pronoun": (" it", "I", "她", "我"),
        "bracket": (" (", "]", "「"),
        "function": (" the", "The", "的", "本"),
        "punctuation": (".", "，"),
    }
    for kind, examples in expected.items():
        assert {OURS.word_class(piece) for piece in examples} == {kind}, kind
    assert OURS.word_class("zebra") is None and OURS.word_class("") is None
