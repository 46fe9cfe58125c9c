"""The small language as a task: rows read back as texts, repeats that can be known, slots in ids."""

from random import Random

import pytest

from transformer.errors import ShapesDoNotFit
from transformer.language_tasks import Language, Translation, instead, language_tokenizer, slots
from transformer.small_language import SmallLanguage, is_held_out
from transformer.tasks import BOS, EOS, NOT_JUDGED


def rows(batch):
    return list(zip(batch.inputs["input_ids"].tolist(), batch.labels.tolist(), strict=True))


def test_a_row_of_stories_begins_with_bos_and_is_judged_everywhere():
    batch = Language(longest=61).stories(Random(3), 7)
    assert batch.inputs["input_ids"].shape == (7, 61) and batch.tokens == 7 * 61
    for ids, labels in rows(batch):
        assert ids[0] == BOS and labels[:-1] == ids[1:] and NOT_JUDGED not in labels
        assert EOS in ids and not any(language_tokenizer().is_byte(one) for one in ids)


@pytest.mark.parametrize("held_out", [False, True])
def test_stories_hold_sentences_of_their_own_tenth(held_out):
    random = Random(3)
    for _ in range(5):
        story = SmallLanguage.load().story(random, held_out=held_out, longest=1)
        assert is_held_out(story.text) == held_out
    first = rows(Language(longest=61).stories(Random(3), 1, held_out=held_out))[0][0]
    text = SmallLanguage.load().story(Random(3), held_out=held_out).text
    assert language_tokenizer().decode(first[: first.index(EOS)]) == text


def test_a_repeat_is_judged_where_the_earlier_copy_gives_it_away():
    task = Language(longest=61, shortest_repeat=3, longest_repeat=17)
    seen = set()
    for ids, labels in rows(task.repeated(Random(3), 60)):
        first = next(place for place, one in enumerate(labels) if one != NOT_JUDGED)
        assert ids[0] == BOS and labels[first:] == [*ids[first + 1 :], labels[-1]]
        before = set(ids[: first + 1])
        assert all(one in before for one in labels[first:])  # every answer has been seen already
        lengths = [n for n in range(3, 18) if ids[first - n : first + 1] == [*ids[first - n : first], ids[first - n]]]
        assert lengths and labels[first] in [ids[first - n + 1] for n in lengths]
        seen |= before
    assert len(seen) > 300 and max(seen) > 259 > min(seen - {BOS, EOS}) > EOS  # pieces and bytes


def test_a_row_too_short_for_a_repeat_is_refused():
    with pytest.raises(ShapesDoNotFit, match="longest: expected ≥ 44"):
        Language(longest=43)
    task = Language(longest=13, longest_repeat=7, longest_before=4)
    assert all(set(labels) != {NOT_JUDGED} for _, labels in rows(task.repeated(Random(3), 60)))


def test_both_kinds_of_rows_come():
    kinds = [NOT_JUDGED in labels for _, labels in rows(Language(longest=61, repeats=0.3).batch(Random(3), 100))]
    assert 20 < sum(kinds) < 40
    assert not any(NOT_JUDGED in labels for _, labels in rows(Language(longest=61, repeats=0.0).batch(Random(3), 20)))


def test_a_translation_is_a_pair_as_the_tokenizer_reads_it():
    tokenizer = language_tokenizer()
    pair = SmallLanguage.load().pair(Random(3))
    batch = Translation().batch(Random(3), 1)
    assert tuple(batch.inputs["input_ids"][0].tolist()) == tokenizer.encode(pair.english).ids
    assert tuple(batch.inputs["decoder_input_ids"][0].tolist()) == tokenizer.encode(pair.chinese).ids
    assert batch.labels[0].tolist() == [*batch.inputs["decoder_input_ids"][0, 1:].tolist(), EOS]


def test_slots_are_found_in_the_ids():
    tokenizer, random, found = language_tokenizer(), Random(3), 0
    for _ in range(60):
        sentence = SmallLanguage.load().story(random)
        encoding = tokenizer.encode(sentence.text)
        for slot, ids in zip(sentence.slots, slots(sentence, tokenizer), strict=True):
            assert ids.right == encoding.ids[ids.position + 1] and ids.right not in ids.wrong
            assert encoding.spans[ids.position + 1] == slot.at and ids.kind == slot.kind
            assert {tokenizer.decode([one]) for one in ids.wrong} == set(slot.wrong)
            found += 1
    assert found > 60


def test_another_word_in_a_place():
    assert instead("The cat sat.", (3, 7), " dog") == "The dog sat."
