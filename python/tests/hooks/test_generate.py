"""transformers: tokens of ``generate``."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import record

pytest.importorskip("torch")
pytest.importorskip("transformers")

START = """
import hodo
hodo.init(app="generate", gpu="off")
import torch
from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration
from transformers import LogitsProcessor, LogitsProcessorList

torch.manual_seed(0)
PAD, END, WORD = 0, 1, 5

class Plan(LogitsProcessor):
    "Makes sequence ``i`` end after ``lengths[i]`` tokens, its end among them."
    def __init__(self, *lengths):
        self.lengths, self.made = lengths, 0
    def __call__(self, ids, scores):
        self.made += 1
        forced = torch.full_like(scores, -float("inf"))
        for row in range(scores.shape[0]):
            forced[row, END if self.made >= self.lengths[row] else WORD] = 0
        return forced

def planned(*lengths):
    return dict(logits_processor=LogitsProcessorList([Plan(*lengths)]), max_new_tokens=20, do_sample=False)

config = dict(pad_token_id=PAD, eos_token_id=END, bos_token_id=2)
gpt = GPT2LMHeadModel(GPT2Config(vocab_size=16, n_embd=8, n_layer=1, n_head=1, n_positions=64, **config)).eval()
t5 = T5ForConditionalGeneration(
    T5Config(vocab_size=16, d_model=8, d_kv=8, d_ff=8, num_layers=1, num_heads=1, decoder_start_token_id=PAD,
             pad_token_id=PAD, eos_token_id=END)
).eval()
prompt = torch.tensor([[PAD, PAD, 7, 8], [6, 7, 8, 9], [PAD, 6, 7, 8]])
mask = (prompt != PAD).long()
"""


def test_tokens_by_batch_and_padding(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
def case(name, call):
    @hodo.inference
    def answer():
        return call()
    with hodo.scope(name):
        return answer()

case("batch", lambda: gpt.generate(input_ids=prompt, attention_mask=mask, **planned(2, 5, 9)))
case("no mask", lambda: gpt.generate(prompt, **planned(2, 5, 9)))
case("pad is end", lambda: gpt.generate(prompt, attention_mask=mask, pad_token_id=END, **planned(2, 5, 9)))
case("several ends", lambda: gpt.generate(prompt, attention_mask=mask, eos_token_id=[END, 3], **planned(2, 5, 9)))
case("no end", lambda: gpt.generate(prompt, attention_mask=mask, **planned(99, 99, 99)))
case("dict", lambda: gpt.generate(prompt, attention_mask=mask, return_dict_in_generate=True, **planned(1, 1, 4)))
case("several answers", lambda: gpt.generate(prompt[1:2], num_return_sequences=2, num_beams=2, **planned(3, 3)))
case("vectors", lambda: gpt.generate(inputs_embeds=gpt.transformer.wte(prompt[1:2]), **planned(4)))
case("encoder", lambda: t5.generate(input_ids=prompt, attention_mask=mask, **planned(2, 5, 9)))
case("twice", lambda: [gpt.generate(prompt[1:2], **planned(n)) for n in (2, 3)])
# The same, outside of a request.
gpt.generate(prompt, attention_mask=mask, **planned(2, 5, 9))
assert hodo.health()["hooks"] == {"transformers": "hooked"}, hodo.health()["hooks"]
assert type(gpt).generate.__code__.co_name == "counted"
hodo.shutdown()
assert type(gpt).generate.__code__.co_name != "counted"
""",
    )
    expected = {
        "batch": (9, 16),
        "no mask": (9, 16),
        "pad is end": (9, 16),
        "several ends": (9, 16),
        "no end": (9, 60),
        "dict": (9, 6),
        "several answers": (4, 6),
        "vectors": (None, 4),
        "encoder": (9, 16),
        "twice": (8, 5),
    }
    found = {}
    for name in expected:
        marks = run.marks(name, "request")
        taken = marks["input_tokens"]["last"] if "input_tokens" in marks else None
        found[name] = (taken, marks["output_tokens"]["last"])
        assert "tokens_per_second" in marks
    assert found == expected
    assert run.node("twice", "request", "generate")["count"] == 2
    assert run.marks("generate")["output_tokens"]["last"] == 16
    assert run.attributes("generate")[0]["batch"] == 3


def test_a_model_that_guesses_ahead_is_not_counted(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def answer():
    return gpt.generate(prompt[1:2], assistant_model=gpt, max_new_tokens=6, min_new_tokens=6, do_sample=False)
length = answer().shape[1] - 4
hodo.mark("length", length)
""",
    )
    assert run.node("request", "generate")["count"] == 1
    assert run.marks("request")["output_tokens"]["last"] == run.marks()["length"]["last"] == 6
