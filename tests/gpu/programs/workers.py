import torch
from torch.utils.data import DataLoader, Dataset

import hodo

hodo.init(app="workers")


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        with hodo.scope("load", index=at):
            return torch.full((16,), float(at))


weight = torch.ones(16, device="cuda")
loader = DataLoader(Rows(), batch_size=2, num_workers=2, multiprocessing_context="fork")
for _ in hodo.epochs(range(1)):
    for batch in loader:
        with hodo.scope("step"):
            with hodo.scope("copy"):
                batch = batch.cuda()
            with hodo.scope("forward"):
                out = (batch * weight).sum()
torch.cuda.synchronize()
