"""transformers: `Trainer` with an evaluation and a checkpoint an epoch; what it logs is marked."""

import tempfile

import hodo

hodo.profile()

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8))
row = {"input_ids": torch.zeros(8, dtype=torch.long), "labels": torch.zeros(8, dtype=torch.long)}
arguments = TrainingArguments(
    output_dir=tempfile.mkdtemp(),
    num_train_epochs=2,
    per_device_train_batch_size=2,
    logging_steps=1,
    save_strategy="epoch",
    eval_strategy="epoch",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
)
Trainer(model, arguments, train_dataset=[row] * 8, eval_dataset=[row] * 4).train()
