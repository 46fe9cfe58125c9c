"""position_picture.py: which rows of a table of positions a picture holds."""

import numpy as np

from tests.transformer.families import family, scramble
from transformer import run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.encoder_classifier import EncoderClassifier
from transformer.position_picture import MOST, of_run, of_table, waves
from transformer.position_rows import position_rows
from transformer.positions import sinusoidal_table
from transformer.trace import Trace
from transformer.vector_tables import table_of
from transformer.wrapped import LoadedModel

IDS = [5, 7, 9, 7, 3]


def model_of(positions: str, **changes: object) -> LoadedModel:
    sizes = {"vocab_size": 53, "max_positions": 211, "d_model": 28, "n_layers": 2, "n_heads": 7}
    return wrap(scramble(DecoderLM(ModelConfig(**(sizes | {"positions": positions} | changes)))))


def picture_of(positions: str, ids: list[int], chosen: int, **changes: object) -> tuple[Trace, object, object]:
    model = model_of(positions, **changes)
    trace = run(model, ids=ids)
    found = position_rows(trace, "decoder")
    return trace, of_run(found, chosen), of_table(found, table_of(model, trace, "decoder.embed.position"), chosen)


def test_a_run_is_shown_whole_or_around_the_chosen_token() -> None:
    trace, picture, _ = picture_of("learned", IDS, 3)
    np.testing.assert_array_equal(picture.rows, trace["decoder.embed.position"])
    assert (picture.at, picture.step, picture.tokens.tolist()) == (3, 1, [0, 1, 2, 3, 4])
    trace, picture, _ = picture_of("learned", [7] * 200, 170)
    assert len(picture.rows) == MOST and picture.tokens[0] == 72 and picture.tokens[picture.at] == 170
    np.testing.assert_array_equal(picture.rows, trace["decoder.embed.position"][72:200])
    assert picture.token_at(5, 200) == 77 and picture.token_at(-1, 200) is None and picture.token_at(128, 200) is None


def test_a_whole_table_is_shown_in_steps() -> None:
    model = model_of("learned")
    trace = run(model, ids=IDS)
    weight = model.module.embedding.positions.weight.detach().numpy()
    _, _, whole = picture_of("learned", IDS, 4)
    assert whole.step == 2 and whole.positions.tolist() == list(range(0, 211, 2)) and whole.tokens is None
    np.testing.assert_array_equal(whole.rows, weight[::2])
    assert whole.at == 2 and whole.token_at(2, 5) == 4 and whole.token_at(3, 5) is None
    assert picture_of("learned", IDS, 3)[2].at is None  # left out
    assert len(trace["decoder.embed.position"]) == 5


def test_a_table_that_the_run_fills_is_not_offered() -> None:
    assert picture_of("learned", IDS, 2, max_positions=5)[2] is None


def test_rows_that_stand_for_padding_are_left_out() -> None:
    model = family("roberta").model
    trace = run(model, ids=IDS)
    found, table = position_rows(trace, "encoder"), table_of(model, trace, "encoder.embed.position")
    whole = of_table(found, table, 1)
    assert len(whole.rows) == 62 and whole.at == 1  # 64 rows, positions count from row 2
    np.testing.assert_array_equal(whole.rows[:5], found.rows)


def test_sines_never_end() -> None:
    trace, _, whole = picture_of("sinusoidal", IDS, 4)
    np.testing.assert_allclose(whole.rows, sinusoidal_table(128, 28).numpy(), atol=1e-6)
    found = position_rows(trace, "decoder")
    dims, positions, values = waves(found, 6, 13)
    assert dims[:2] == (6, 7) and len(set(dims)) == 6 and positions.tolist()[:5] == [0, 0.25, 0.5, 0.75, 1]
    np.testing.assert_allclose(values[:, :17:4], found.rows.T[list(dims)], atol=1e-6)


def test_waves_of_few_dimensions_are_not_told_twice() -> None:
    config = ModelConfig(vocab_size=53, max_positions=11, d_model=2, n_layers=1, n_heads=1, positions="sinusoidal")
    found = position_rows(run(wrap(scramble(EncoderClassifier(config, 3))), ids=IDS), "encoder")
    assert waves(found, 1, 4)[0] == (0, 1)
