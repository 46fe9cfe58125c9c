"""The record of a training."""

import json
from random import Random

import torch

from transformer.decoder_lm import DecoderLM
from transformer.experiment import experiment_record
from transformer.language_tasks import Language, language_tokenizer
from transformer.settings import Settings
from transformer.training import Training


def test_a_record_says_what_was_done_and_survives_json(tiny):
    config = tiny(vocab_size=language_tokenizer().vocab_size, max_positions=13, positions="rotary")
    model = DecoderLM(config, generator=torch.Generator().manual_seed(1))
    plan = Settings(steps=3, batch_size=2, learning_rate=0.01, evaluate_every=2, evaluate_batches=1)
    training = Training(model, Language(longest=13, longest_repeat=5, longest_before=3), plan, Random(5))
    training.update()
    training.update()
    record = experiment_record(training, seed=5)
    assert json.loads(json.dumps(record)) == record
    assert (record["steps"], record["seed"], record["longest"], record["settings"]["steps"]) == (2, 5, 13, 3)
    assert record["class_name"] == "DecoderLM" and record["config"]["d_model"] == 28
    assert record["task"] == repr(training.task) and record["seconds"] >= 0
    assert [len(row) for row in record["curve"]["points"]] == [4, 4]
    assert record["curve"]["held_out"][0][0] == 2
    assert record["versions"]["torch"] == torch.__version__
    assert record["parameters"] == sum(one.numel() for one in model.parameters())
