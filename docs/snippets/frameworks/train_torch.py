"""torch: a loop as everybody writes it; `layers=1` gives the modules of the outermost one scopes of their own."""

import hodo

hodo.profile(layers=1)

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(64, 16), torch.randint(0, 2, (64,)))
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters())
loss_of = nn.CrossEntropyLoss()
if __name__ == "__main__":
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=8, num_workers=1):
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
