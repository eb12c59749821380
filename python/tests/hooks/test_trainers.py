"""Trainers that call back: transformers, lightning, accelerate; as they are, with one line."""

from __future__ import annotations

from typing import Any

import pytest

TRANSFORMERS = """
import hodo
hodo.profile()
import torch
import inspect
import tempfile
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

# By its name since 4.41, or that before.
names = inspect.signature(TrainingArguments).parameters
when = {name: "epoch" for name in ("eval_strategy", "evaluation_strategy") if name in names}
config = GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8)
row = {"input_ids": torch.zeros(8, dtype=torch.long), "labels": torch.zeros(8, dtype=torch.long)}
arguments = TrainingArguments(
    output_dir=tempfile.mkdtemp(), num_train_epochs=2, per_device_train_batch_size=2, logging_steps=1,
    gradient_accumulation_steps=2, save_strategy="epoch", report_to=[], use_cpu=True,
    disable_tqdm=True, **when,
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


def test_what_transformers_logs_outside_of_training(ran: Any) -> None:
    later = """
import copy, pickle
with hodo.scope("later"):
    trainer.evaluate()
    trainer.predict([row] * 2)
assert len(trainer.callback_handler.callbacks) == before
class Copies(TrainerCallback):
    def on_train_begin(self, *args, **_):
        for each in trainer.callback_handler.callbacks:
            assert type(pickle.loads(pickle.dumps(each))) is type(each)
trainer.add_callback(Copies())
trainer.train()
"""
    run = ran("STOP = False\n" + TRANSFORMERS + later, "transformers", "accelerate", "torch")
    assert run.marks("later", "evaluate")["eval_loss"]["summary"]
    assert run.marks("later", "predict")["test_loss"]["summary"]


LIGHTNING = """
import hodo
hodo.profile()
import torch
from torch.utils.data import DataLoader, TensorDataset
import PACKAGE as L
import pickle

class Sends(L.Callback):
    def on_train_start(self, trainer, module):
        # As a strategy does that starts processes anew.
        for each in trainer.callbacks:
            there = pickle.loads(pickle.dumps(each))
            assert type(there) is type(each) and vars(there).get("_loops", []) == []

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
    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=1, callbacks=[Sends()],
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
    # What another loop logged stays in the Trainer, and is not of this one.
    assert set(run.marks("train", "epoch", "evaluate")) == {"val_loss"}
    assert set(run.marks("train", "epoch", "step")) == {"loss"}
    assert run.marks("train", "epoch", "step")["loss"]["count"] == 8


def test_lightning_that_is_stopped(ran: Any) -> None:
    run = ran("STOP = True\n" + LIGHTNING.replace("PACKAGE", "lightning"), "lightning", "torch")
    assert run.node("train")["failed"] == 1 and run.node("train", "epoch", "step")["failed"] == 1
    assert run.left_open == 0


LOGS_LATE = """
import hodo
hodo.profile()
import tempfile
import lightning, torch
from torch.utils.data import DataLoader, TensorDataset

class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
    def training_step(self, batch, i):
        return self.layer(batch[0]).sum()
    def on_train_epoch_end(self):
        self.log("train_end", 1.0 + self.current_epoch)
    def validation_step(self, batch, i):
        self.layer(batch[0])
    def on_validation_epoch_end(self):
        self.log("val_end", 3.0 + self.current_epoch)
    test_step = validation_step
    def on_test_epoch_end(self):
        self.log("test_end", 5.0)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

loader = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=2)
def trainer():
    return lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, default_root_dir=tempfile.mkdtemp(), num_sanity_val_steps=0,
        enable_progress_bar=False, enable_model_summary=False,
    )
trained = trainer()
trained.fit(Net(), loader, loader)
trained.test(dataloaders=loader, ckpt_path="best")
for name in ("fit", "test"):
    try:
        getattr(trainer(), name)()
        raise SystemExit("not raised")
    except Exception as error:
        print(type(error).__name__, error)
assert hodo.current().id is None
"""


def test_lightning_values_of_the_modules_own_epoch_ends_were_lost(ran: Any) -> None:
    run = ran(LOGS_LATE, "lightning", "torch")
    train, validate = run.marks("train", "epoch"), run.marks("train", "epoch", "evaluate")
    assert (train["train_end"]["count"], train["train_end"]["last"]) == (2, 2.0)
    assert (validate["val_end"]["count"], validate["val_end"]["last"]) == (2, 4.0)
    assert run.marks("test", "evaluate")["test_end"]["last"] == 5.0


def test_lightning_without_a_model_is_called_by_its_own_and_fails_as_ever(ran: Any) -> None:
    run = ran(LOGS_LATE, "lightning", "torch")
    assert [each.get("tag") for each in run.attributes("test")] == ["Net", None]
    plain = ran(LOGS_LATE.replace("hodo.profile()", ""), "lightning", "torch")
    assert run.output == plain.output and "'model'" in plain.output


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


def test_a_transformers_trainer_that_is_resumed_and_has_several_evaluations(ran: Any) -> None:
    run = ran("""
import hodo
import inspect, tempfile
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

names = inspect.signature(TrainingArguments).parameters
when = {name: "epoch" for name in ("eval_strategy", "evaluation_strategy") if name in names}
row = {"input_ids": torch.zeros(8, dtype=torch.long), "labels": torch.zeros(8, dtype=torch.long)}
folder = tempfile.mkdtemp()

def trainer(steps):
    config = GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8)
    arguments = TrainingArguments(
        output_dir=folder, max_steps=steps, per_device_train_batch_size=2, report_to=[], use_cpu=True,
        disable_tqdm=True, save_strategy="steps", save_steps=3, logging_strategy="no", **when,
    )
    return Trainer(GPT2LMHeadModel(config), arguments, train_dataset=[row] * 8, eval_dataset={"a": [row], "b": [row]})

trainer(3).train()               # of the four steps of an epoch
hodo.profile()
trainer(8).train(resume_from_checkpoint=True)
""", "transformers", "accelerate", "torch")
    assert [each["index"] for each in run.attributes("epoch")] == [0, 1]
    evaluations = run.attributes("evaluate")
    assert [each["tag"] for each in evaluations] == ["eval_a", "eval_b"] * 2
    assert not [node for node in run.report["nodes"] if node["path"].count("evaluate") > 1]
