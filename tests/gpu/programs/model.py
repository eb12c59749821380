"""The two models that the programs train."""

import torch
import torch.nn as nn


def mlp(depth: int = 6):
    torch.manual_seed(0)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).cuda()
    x = torch.randn(64, 256, device="cuda")
    y = torch.randint(0, 10, (64,), device="cuda")
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)
    return model, (lambda: model(x)), (lambda out: loss(out, y)), optimizer


def gpt():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    model = GPT2LMHeadModel(config).cuda().to(torch.bfloat16)
    ids = torch.randint(0, 50257, (8, 1024), device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    return model, (lambda: model(input_ids=ids, labels=ids)), (lambda out: out.loss), optimizer


def tiny():
    """Two kernels forward; three backward, of which one adds to the gradient from the second step on."""
    torch.manual_seed(0)
    weight = torch.ones(1024, device="cuda", requires_grad=True)
    x = torch.ones(1024, device="cuda")
    return weight, x
