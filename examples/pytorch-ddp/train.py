"""PyTorch DistributedDataParallel under dllaunch: nothing in here knows of Slurm.

The model learns which of four quadrants a point lies in. Every rank draws its own share of the
same data set, DDP averages the gradients, and at the end all ranks must hold the same weights.
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--points", type=int, default=4096)
arguments = parser.parse_args()

# dllaunch has set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: init_method="env://" reads them.
gpu = torch.cuda.is_available()
os.environ.setdefault("USE_LIBUV", "0")  # Debian 13's PyTorch asks for libuv, and is built without
dist.init_process_group("nccl" if gpu else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()
local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
if gpu:
    torch.cuda.set_device(device)

torch.manual_seed(1)  # the same data set and the same first weights everywhere
points = torch.rand(arguments.points, 2) * 2 - 1
quadrants = (points[:, 0] > 0).long() * 2 + (points[:, 1] > 0).long()
data = TensorDataset(points, quadrants)
sampler = DistributedSampler(data, seed=1)
loader = DataLoader(data, batch_size=64, sampler=sampler)

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
model = DistributedDataParallel(model, device_ids=[local_rank] if gpu else None)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(arguments.epochs):
    sampler.set_epoch(epoch)
    total = torch.zeros(3, dtype=torch.float64, device=device)  # loss, right answers, points
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right = (logits.argmax(1) == y).sum()
        total += torch.stack([loss.detach() * len(y), right, torch.tensor(len(y))]).to(total)
    dist.all_reduce(total)
    if rank == 0:
        print(f"epoch {epoch}: loss {total[0] / total[2]:.4f}, accuracy {total[1] / total[2]:.3f}",
              flush=True)

weights = torch.cat([p.detach().flatten() for p in model.parameters()])
largest, smallest = weights.clone(), weights.clone()
dist.all_reduce(largest, op=dist.ReduceOp.MAX)
dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
assert torch.equal(largest, smallest), "the ranks' weights differ"
print(f"rank {rank} of {world} on {os.uname().nodename}: local rank {local_rank}, "
      f"{torch.get_num_threads()} threads, weights agree", flush=True)
dist.destroy_process_group()
