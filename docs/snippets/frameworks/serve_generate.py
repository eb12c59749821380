"""`generate` of transformers inside of a request: its tokens are counted, padding left out."""

import hodo

hodo.profile()

import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=64)).eval()


@hodo.inference(model="tiny")
def complete(prompts, mask):
    return model.generate(prompts, attention_mask=mask, max_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=15)


complete(torch.tensor([[0, 3, 4], [5, 6, 7]]), torch.tensor([[0, 1, 1], [1, 1, 1]]))
