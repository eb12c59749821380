"""Trainers that call back: transformers, lightning, accelerate; as they are, with one line."""

from __future__ import annotations

from typing import Any

import pytest

TRANSFORMERS = """
import hodo
hodo.profile()
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

config = GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8)
row = {"input_ids": torch.zeros(8, dtype=torch.long), "labels": torch.zeros(8, dtype=torch.long)}
arguments = TrainingArguments(
    output_dir="out", num_train_epochs=2, per_device_train_batch_size=2, logging_steps=1,
    gradient_accumulation_steps=2, save_strategy="epoch", eval_strategy="epoch", report_to=[],
    use_cpu=True, disable_tqdm=True,
)
class Stops(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if STOP and state.global_step == 3:
            raise RuntimeError("stop")

trainer = Trainer(
    GPT2LMHeadModel(config), arguments, train_dataset=[row] * 8, eval_dataset=[row] * 4,
    callbacks=[Stops()],
)
before = len(trainer.callback_handler.callbacks)
try:
    trainer.train()
except RuntimeError:
    assert STOP
assert len(trainer.callback_handler.callbacks) == before
health = hodo.health()
assert not any(health[k] for k in ("out_of_order", "double_closed", "wrong_thread")), health
assert hodo.current().id is None
"""


def test_transformers(ran: Any, tree: Any) -> None:
    run = ran("STOP = False\n" + TRANSFORMERS, "transformers", "accelerate", "torch")
    assert run.tree == tree("""
        train 1
          checkpoint 2
          epoch 2
            step 4
              backward 8
              data_wait 8
              forward 8
              optimizer 4
          evaluate 2
            step 2
              data_wait 2
              forward 2
    """)
    assert [each["index"] for each in run.attributes("epoch")] == [0, 1]
    assert run.marks("train", "epoch")["loss"]["count"] >= 2
    assert run.marks("train", "evaluate")["eval_loss"]["summary"]
    assert [each.get("accumulated") for each in run.attributes("optimizer")] == [2] * 4


def test_transformers_that_is_stopped(ran: Any) -> None:
    run = ran("STOP = True\n" + TRANSFORMERS, "transformers", "accelerate", "torch")
    assert run.node("train")["failed"] == 1 and run.node("train", "epoch")["failed"] == 1
    assert run.left_open == 0


LIGHTNING = """
import hodo
hodo.profile()
import torch
from torch.utils.data import DataLoader, TensorDataset
import PACKAGE as L

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def training_step(self, batch, i):
        if STOP and self.global_step == 3:
            raise RuntimeError("stop")
        loss = self.layer(batch[0]).sum()
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, i):
        self.log("val_loss", self.layer(batch[0]).sum())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

loader = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=2)
trainer = L.Trainer(
    max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=1,
)
before = len(trainer.callbacks)
try:
    trainer.fit(Net(), loader, loader)
except RuntimeError:
    assert STOP
assert len(trainer.callbacks) == before
health = hodo.health()
assert not any(health[k] for k in ("out_of_order", "double_closed", "wrong_thread")), health
assert hodo.current().id is None
"""


@pytest.mark.parametrize("package", ["lightning", "pytorch_lightning"])
def test_lightning(ran: Any, tree: Any, package: str) -> None:
    run = ran("STOP = False\n" + LIGHTNING.replace("PACKAGE", package), package, "torch")
    assert run.tree == tree("""
        train 1
          epoch 2
            evaluate 2
              step 8
                data_wait 8
                forward 8
            step 8
              backward 8
              data_wait 8
              forward 8
              optimizer 8
          evaluate 1
            step 1
              data_wait 1
              forward 1
    """)
    assert [each.get("tag") for each in run.attributes("evaluate")] == ["sanity", None, None]
    assert run.marks("train", "epoch")["loss"]["summary"]
    assert run.marks("train", "epoch", "evaluate")["val_loss"]["summary"]


def test_lightning_that_is_stopped(ran: Any) -> None:
    run = ran("STOP = True\n" + LIGHTNING.replace("PACKAGE", "lightning"), "lightning", "torch")
    assert run.node("train")["failed"] == 1 and run.node("train", "epoch", "step")["failed"] == 1
    assert run.left_open == 0


def test_accelerate(ran: Any, tree: Any) -> None:
    run = ran("""
        import hodo
        hodo.profile()
        import torch
        from accelerate import Accelerator
        from torch.utils.data import DataLoader, TensorDataset

        accelerator = Accelerator(cpu=True)
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=2)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for epoch in range(2):
            for x, in loader:
                accelerator.backward(model(x).sum())
                optimizer.step()
    """, "accelerate", "torch")
    assert run.tree == tree("""
        epoch 2
          step 8
            backward 8
            data_wait 8
            forward 8
            optimizer 8
    """)
