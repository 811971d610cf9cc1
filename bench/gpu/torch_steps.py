"""Whole training steps in PyTorch, for beside_pytorch.py: channels-last, automatic mixed precision, SGD with momentum, like ours.

  torch_steps.py about                    one line of JSON: version, device, supported modes
  torch_steps.py steps [KEY=VALUE]...     reads numbers of steps, answers each with a line of JSON: the seconds of a step
  torch_steps.py first [KEY=VALUE]...     one step; a line of JSON with the time at its end

Keys and defaults: see DEFAULTS. way: eager | graph (the whole step captured as a CUDA graph) | compile (torch.compile).
Images: one batch that stays on the device; or with data=FOLDER, in CIFAR-10's format, batches that a DataLoader's `workers`
read, normalise and resize into pinned memory, copied during the previous step.
Steps are timed by device events without synchronisation, on a CPU by the clock. With data, all steps together are timed by
the clock, from an idle device to an idle device, after the batches that the workers had ready.
"""

import contextlib
import json
import os
import sys
import time

import torch
from torch.nn import functional as F

import torch_models

DEFAULTS = {
    "model": "resnet50",
    "batch": "256",
    "size": "224",
    "classes": "1000",
    "precision": "bf16",
    "way": "eager",
    "device": "cuda",
    "data": "",
    "workers": "8",
}
RECORD, SIDE = 3073, 32  # bytes of an image with its label, pixels


class CifarBatches(torch.utils.data.Dataset):
    """Returns a whole batch per index list: a worker's overhead is paid once per batch."""

    def __init__(self, folder, size):
        names = sorted(name for name in os.listdir(folder) if name.startswith("data_batch_"))
        parts = []
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                parts.append(torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).view(-1, RECORD))
        records = torch.cat(parts)
        self.labels = records[:, 0].long()
        self.pixels = records[:, 1:].reshape(-1, 3, SIDE, SIDE)
        some = self.pixels[:4096].float() / 255
        self.mean = some.mean((0, 2, 3)).view(1, 3, 1, 1)
        self.scale = 1 / some.std((0, 2, 3)).view(1, 3, 1, 1)
        self.size = size

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, indexes):
        images = self.pixels[indexes].float().div_(255).sub_(self.mean).mul_(self.scale)
        images = images.contiguous(memory_format=torch.channels_last)
        images = F.interpolate(images, size=(self.size, self.size), mode="bilinear", align_corners=False)
        return images, self.labels[indexes]


class SameBatch:
    ready = 0

    def __init__(self, batch, size, classes, device):
        torch.manual_seed(2)
        self.images = torch.randn(batch, 3, size, size, device=device).contiguous(memory_format=torch.channels_last)
        self.labels = torch.randint(classes, (batch,), device=device)

    def next(self):
        return self.images, self.labels


class Loaded:
    """Batches of a DataLoader; the next one is being copied to the device."""

    def __init__(self, folder, batch, size, workers, device):
        dataset = CifarBatches(folder, size)
        order = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(dataset), batch, drop_last=True)
        ahead = {"prefetch_factor": 2, "persistent_workers": True} if workers else {}
        self.loader = torch.utils.data.DataLoader(
            dataset, batch_size=None, sampler=order, num_workers=workers, pin_memory=device == "cuda", **ahead
        )
        self.ready = 2 * workers + 2  # batches that may be ready before the clock starts
        self.device, self.epoch = device, iter(self.loader)
        self.stream = torch.cuda.Stream() if device == "cuda" else None
        self.fetch()

    def fetch(self):
        batch = next(self.epoch, None)
        if batch is None:
            self.epoch = iter(self.loader)
            batch = next(self.epoch)
        if self.stream is None:
            self.there = batch
            return
        with torch.cuda.stream(self.stream):
            self.there = [one.to(self.device, non_blocking=True) for one in batch]

    def next(self):
        here = self.there
        if self.stream is not None:
            now = torch.cuda.current_stream()
            now.wait_stream(self.stream)
            for one in here:
                one.record_stream(now)
        self.fetch()
        return here


class Training:
    def __init__(self, asked):
        self.device, self.way = asked["device"], asked["way"]
        self.precision = asked["precision"]
        classes = int(asked["classes"])
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = self.precision == "tf32"
        network = torch_models.MODELS[asked["model"]](3, classes)
        self.network = network.to(self.device, memory_format=torch.channels_last).train()
        self.parameters = sum(parameter.numel() for parameter in self.network.parameters())
        self.optimizer = self.make_optimizer()
        batch, size = int(asked["batch"]), int(asked["size"])
        if asked["data"]:
            self.data = Loaded(asked["data"], batch, size, int(asked["workers"]), self.device)
        else:
            self.data = SameBatch(batch, size, classes, self.device)
        if self.way == "compile":
            self.network = torch.compile(self.network)
        self.graph = None

    def make_optimizer(self):
        options = {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4}
        parameters = list(self.network.parameters())
        try:  # one kernel for all parameters, if supported
            return torch.optim.SGD(parameters, fused=self.device == "cuda", **options)
        except (TypeError, RuntimeError):
            return torch.optim.SGD(parameters, **options)

    def autocast(self):
        if self.precision != "bf16":
            return contextlib.nullcontext()
        return torch.autocast(self.device, torch.bfloat16)

    def compute(self, images, labels):
        with self.autocast():
            logits = self.network(images)
        loss = F.cross_entropy(logits.float(), labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def capture(self):
        """Captures the whole step, with images at a fixed address."""
        self.images, self.labels = self.data.next()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(4):
                self.optimizer.zero_grad(set_to_none=True)
                self.compute(self.images, self.labels)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.optimizer.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()  # the graph has its own memory
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.compute(self.images, self.labels)

    def step(self):
        if self.way == "graph" and self.graph is None:
            self.capture()
        images, labels = self.data.next()
        if self.graph is not None:
            if images is not self.images:
                self.images.copy_(images, non_blocking=True)
                self.labels.copy_(labels, non_blocking=True)
            self.graph.replay()
            return self.loss
        self.optimizer.zero_grad(set_to_none=True)
        return self.compute(images, labels)

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def by_clock(self, steps):
        """Times all steps together, from an idle device to an idle device."""
        for _ in range(self.data.ready):
            self.step()
        self.wait()
        begin = time.perf_counter()
        for _ in range(steps):
            loss = self.step()
        self.wait()
        return [(time.perf_counter() - begin) / steps] * steps, loss

    def by_events(self, steps):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
        events[0].record()
        for event in events[1:]:
            loss = self.step()
            event.record()
        self.wait()
        return [a.elapsed_time(b) / 1e3 for a, b in zip(events, events[1:])], loss

    def run(self, steps):
        same = isinstance(self.data, SameBatch)
        seconds, loss = self.by_events(steps) if same and self.device == "cuda" else self.by_clock(steps)
        return {"step_s": [round(one, 6) for one in seconds], "loss": loss.item(), "parameters": self.parameters}


def about():
    cuda = torch.cuda.is_available()
    ways = ["eager"] + (["graph"] if cuda else []) + (["compile"] if hasattr(torch, "compile") else [])
    return {"version": torch.__version__, "device": torch.cuda.get_device_name() if cuda else "", "ways": ways}


def options(arguments):
    asked = dict(DEFAULTS)
    for word in arguments:
        key, equals, value = word.partition("=")
        if key not in asked or not equals:
            sys.exit(f"no such option: {word}")
        asked[key] = value
    if asked["model"] not in torch_models.MODELS:
        sys.exit(f"no such model: {asked['model']}")
    return asked


def main():
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    if verb == "about":
        print(json.dumps(about()))
        return
    if verb not in ("steps", "first"):
        sys.exit(__doc__)
    asked = options(sys.argv[2:])
    if asked["device"] == "cpu":
        torch.set_num_threads(1)  # spinning threads are slow beside others
    training = Training(asked)
    if verb == "first":
        loss = training.step().item()
        training.wait()
        print(json.dumps({"time": time.time(), "loss": loss}), flush=True)
        return
    for line in sys.stdin:
        print(json.dumps(training.run(int(line))), flush=True)


if __name__ == "__main__":
    main()
