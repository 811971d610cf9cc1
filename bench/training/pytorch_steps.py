"""Whole training steps in PyTorch, beside bench_training and in the same form: reads numbers of steps, answers with JSON.

  pytorch_steps.py MODEL BATCH THREADS fp32|bf16 nchw|channels_last [DATA]      MODEL: resnet50 (3x128x128, 1,000 classes) | cnn
                                                                               | gpt2-mini:TOKENS:VOCABULARY

resnet50 is torchvision's v1.5, written out. cnn has its Linear layers as Conv2d: Debian's PyTorch has a reference BLAS. DATA:
folder of Fashion-MNIST, for cnn: all of it in memory as bytes, each batch picked by a random order, scaled and normalised.
SGD with momentum 0.9 and weight decay 1e-4, as bench_training.
"""

import contextlib
import gzip
import json
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../gpu"))
import torch_sequences


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != 4 * width:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


def resnet50(classes=1000):
    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, 64 << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(inplace=True),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 12),
        nn.ReLU(inplace=True),
        nn.Conv2d(128, 10, 1),
        nn.Flatten(),
    )


class Random:
    """The same batch each time."""

    def __init__(self, batch, shape, classes, layout):
        torch.manual_seed(2)
        self.images = torch.randn(batch, *shape).contiguous(memory_format=layout)
        self.labels = torch.randint(classes, (batch,))

    def next(self):
        return self.images, self.labels


class RandomTokens:
    def __init__(self, batch, tokens, vocabulary):
        torch.manual_seed(2)
        self.ids = torch.randint(vocabulary, (batch, tokens))
        self.labels = torch.randint(vocabulary, (batch * tokens,))

    def next(self):
        return self.ids, self.labels


class FashionMnist:
    def __init__(self, folder, batch, layout):
        self.batch, self.layout = batch, layout
        pixels = self.read(folder, "train-images-idx3-ubyte", 16)
        self.pixels = pixels.reshape(-1, 1, 28, 28)
        self.labels = self.read(folder, "train-labels-idx1-ubyte", 8).long()
        scaled = self.pixels.float() / 255
        self.mean, self.std = scaled.mean().item(), scaled.std().item()
        self.order = torch.empty(0, dtype=torch.long)

    @staticmethod
    def read(folder, name, head):
        path = os.path.join(folder, name)
        with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
            return torch.frombuffer(bytearray(file.read()[head:]), dtype=torch.uint8)

    def next(self):
        if len(self.order) < self.batch:
            self.order = torch.randperm(len(self.labels))
        chosen, self.order = self.order[: self.batch], self.order[self.batch :]
        images = self.pixels[chosen].float().mul_(1 / 255).sub_(self.mean).mul_(1 / self.std)
        return images.contiguous(memory_format=self.layout), self.labels[chosen]


def main():
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__)
    name, batch, threads, precision, layout = sys.argv[1:6]
    torch.set_num_threads(int(threads))
    layout = torch.channels_last if layout == "channels_last" else torch.contiguous_format
    if ":" in name:
        name, tokens, vocabulary = name.split(":")
        model = torch_sequences.gpt2(name, int(vocabulary)).train()
        data = RandomTokens(int(batch), int(tokens), int(vocabulary))
    else:
        model = (resnet50() if name == "resnet50" else cnn()).to(memory_format=layout).train()
    if len(sys.argv) == 7:
        data = FashionMnist(sys.argv[6], int(batch), layout)
    elif name.startswith("gpt2"):
        pass
    elif name == "resnet50":
        data = Random(int(batch), (3, 128, 128), 1000, layout)
    else:
        data = Random(int(batch), (1, 28, 28), 10, layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def step():
        images, labels = data.next()
        optimizer.zero_grad(set_to_none=True)
        half = torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
        with half:
            logits = model(images)
        functional.cross_entropy(logits.flatten(0, -2).float(), labels).backward()
        optimizer.step()

    for line in sys.stdin:
        seconds, cpu_before = [], time.process_time()
        for _ in range(int(line)):
            before = time.perf_counter()
            step()
            seconds.append(round(time.perf_counter() - before, 6))
        cpu_s = time.process_time() - cpu_before
        with open("/proc/self/status") as status:
            peak_mib = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))
        print(json.dumps({"step_s": seconds, "cpu_s": cpu_s, "peak_mib": peak_mib}), flush=True)


if __name__ == "__main__":
    main()
