"""PyTorch DistributedDataParallel that goes on: what dllaunch restarts loses no more than the steps
since its latest checkpoint, and ends with the weights of a run that nothing happened to.

The model learns which of four quadrants a point lies in. Look at save(), load() and leave(): these
are what a script of your own needs.
"""
import argparse
import hashlib
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--points", type=int, default=4096)
parser.add_argument("--save-every", type=int, default=100, help="steps between two checkpoints")
arguments = parser.parse_args()

run = pathlib.Path(os.environ["DLLAUNCH_RUN_DIR"])
checkpoint = run / "checkpoint.pt"
fencing_token = int(os.environ.get("DLLAUNCH_GENERATION", "0"))  # fencing token of this start
heartbeat = os.environ.get("DLLAUNCH_HEARTBEAT")

asked_to_stop = False


def on_signal(number, frame):
    global asked_to_stop
    asked_to_stop = True  # the loop below saves and exits after its step


signal.signal(signal.SIGUSR2, on_signal)  # `recovery.signal` of job.yaml

gpu = torch.cuda.is_available()
os.environ.setdefault("USE_LIBUV", "0")  # Debian 13's PyTorch asks for libuv, and is built without
dist.init_process_group("nccl" if gpu else "gloo")
rank = dist.get_rank()
local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
if gpu:
    torch.cuda.set_device(device)

torch.manual_seed(1)  # the same data set and the same first weights everywhere
points = torch.rand(arguments.points, 2) * 2 - 1
quadrants = (points[:, 0] > 0).long() * 2 + (points[:, 1] > 0).long()
data = TensorDataset(points, quadrants)
sampler = DistributedSampler(data, seed=1)  # the same order in each start: it depends on the epoch
loader = DataLoader(data, batch_size=64, sampler=sampler)

network = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
model = DistributedDataParallel(network, device_ids=[local_rank] if gpu else None)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def overtaken():
    """Slurm can start a job again while an earlier start still runs: only the latest may write."""
    lease = run / ".lease"
    return fencing_token > 0 and lease.is_dir() and any(
        entry.name.isdigit() and int(entry.name) > fencing_token for entry in lease.iterdir())


def save(epoch, done):
    """`done`: batches of the epoch. Whole or not at all, whenever this process is killed."""
    if rank != 0:
        return
    if overtaken():
        os._exit(93)  # never restart
    temporary = run / f".checkpoint-{fencing_token}.tmp"
    with open(temporary, "wb") as file:
        torch.save({"model": network.state_dict(), "optimizer": optimizer.state_dict(),
                    "epoch": epoch, "done": done}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, checkpoint)


def load():
    """The epoch to go on with, and how many of its batches are done. Rank 0 reads for all: another
    node's file system may still show what was there a minute ago."""
    found = [None]
    if rank == 0:
        for left in run.glob(".checkpoint-*.tmp"):  # left by a killed start
            left.unlink()
        if checkpoint.exists():
            found = [torch.load(checkpoint, map_location="cpu")]
    dist.broadcast_object_list(found, src=0)
    state = found[0]
    if state is None:
        return 0, 0
    network.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"], state["done"]


def somebody_was_asked():
    """Signals reach ranks at different steps: they have to agree on one."""
    flag = torch.tensor([float(asked_to_stop)], device=device)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return flag.item() > 0


def leave(epoch, done):
    save(epoch, done)
    dist.barrier()  # no rank exits before the checkpoint is saved
    sys.exit(75)  # not done: 0 would mean that the work is


first_epoch, done_before = load()
if rank == 0:
    print(f"goes on with epoch {first_epoch} after {done_before} batches", flush=True)
steps = 0
for epoch in range(first_epoch, arguments.epochs):
    sampler.set_epoch(epoch)
    total = torch.zeros(1, dtype=torch.float64, device=device)
    for batch, (x, y) in enumerate(loader):
        if epoch == first_epoch and batch < done_before:
            continue
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        steps += 1
        if steps % 10 == 0:
            if heartbeat:
                pathlib.Path(heartbeat).touch()
            if somebody_was_asked():
                leave(epoch, batch + 1)
        if steps % arguments.save_every == 0:
            save(epoch, batch + 1)
    if rank == 0:
        print(f"epoch {epoch}: loss {total.item() / len(loader):.4f}", flush=True)

save(arguments.epochs, 0)
if rank == 0:
    weights = b"".join(p.detach().cpu().numpy().tobytes() for p in network.parameters())
    print(f"done: weights {hashlib.sha256(weights).hexdigest()}", flush=True)
dist.barrier()
dist.destroy_process_group()
