"""A DDP training in which one rank hangs in a chosen way, for bench/autopsy/measure.

  ddp.py KIND RANK FOLDER     KIND: a key of `expected` in measure, or `none`: 400 steps; it prints their median and tenth
"""
import os
import signal
import statistics
import sys
import threading
import time

trains = threading.Event()


def say_that_it_starts():
    while not trains.wait(1):
        print("starts", flush=True)


starting = threading.Thread(target=say_that_it_starts)  # on a busy machine for longer than the limit
starting.start()
os.environ.setdefault("USE_LIBUV", "0")
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

kind, odd, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo")
here = dist.get_rank() == odd
steps = 400 if kind == "none" else 12
last = 8  # the step in which the rank hangs


def fetch():
    time.sleep(3600)


def read_file():
    open(folder + "/fifo").read()


def take_twice():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


class Data(Dataset):
    def __len__(self):
        # The odd rank runs out of batches before the others.
        return 4 * (last if here and kind == "uneven batches" else steps)

    def __getitem__(self, i):
        if here and i == 4 * last and kind in ("loader", "loader's worker"):
            fetch()
        if here and i == 4 * last and kind == "file":
            read_file()
        return torch.ones(64)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(64, 64) if kind != "none" else torch.nn.Sequential(
            *(torch.nn.Linear(64 if i == 0 else 256, 256) for i in range(4)))
        self.step = 0

    def forward(self, x):
        self.step += 1
        if here and self.step > last and kind == "model":
            time.sleep(3600)
        return self.inner(x)


model = torch.nn.parallel.DistributedDataParallel(Model())
trains.set()
starting.join()
print("trains", flush=True)
times = []
for step, x in enumerate(DataLoader(Data(), batch_size=4, num_workers=int(kind == "loader's worker"))):
    if here and step == last and kind == "lock":
        take_twice()
    if here and step == last and kind == "stopped":
        stop()
    began = time.perf_counter()
    model(x).sum().backward()
    times.append(time.perf_counter() - began)
    if kind == "none" and step % 50 == 49:
        print("step", step, flush=True)
dist.barrier()
print("a step:", statistics.median(times) * 1e3, sorted(times)[len(times) // 10] * 1e3, "ms", flush=True)
