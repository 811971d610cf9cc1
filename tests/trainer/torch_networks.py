"""The networks of trainer/models written in PyTorch, for tests that compare the two.

    torch_networks.py gradients MODEL GIVEN OUT         one step's loss, logits and gradients
    torch_networks.py losses MODEL BATCH LR MOMENTUM GIVEN OUT
                                                        of steps of SGD over the images in their order
    torch_networks.py evaluate MODEL CHECKPOINT DATA    loss and accuracy over cifar10's test images

Files are safetensors, read and written here: no package is needed for that.
"""
import json
import struct
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

TYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64}


def read_tensors(path):
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy())
    return tensors


def write_tensors(path, tensors):
    header, offset, pieces = {}, 0, []
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].dtype == torch.float32):
        single = tensor.dtype == torch.float32
        array = tensor.detach().contiguous().numpy()
        piece = array.astype(np.float32 if single else np.float64).tobytes()
        header[name] = {
            "dtype": "F32" if single else "F64",
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(piece)],
        }
        offset += len(piece)
        pieces.append(piece)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(pieces))


class Cnn(nn.Module):
    def __init__(self, channels, size, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.fc1 = nn.Linear(64 * ((size - 4) // 2) ** 2, 128)
        self.fc2 = nn.Linear(128, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, project):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = None
        if project:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    """v1.5, with torchvision's names."""

    def __init__(self, channels, size, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for layer, blocks in enumerate((3, 4, 6, 3)):
            width = 64 << layer
            stack = []
            for block in range(blocks):
                stride = 2 if layer > 0 and block == 0 else 1
                stack.append(Bottleneck(inputs, width, stride, block == 0))
                inputs = 4 * width
            setattr(self, f"layer{layer + 1}", nn.Sequential(*stack))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class ResNet50V2(nn.Module):
    """As keras.applications builds it: the last block of a stage strides."""

    def __init__(self, channels, size, classes):
        super().__init__()
        self.conv1_conv = nn.Conv2d(channels, 64, 7, 2, 3)
        self.blocks = []
        inputs = 64
        for stage, blocks in enumerate((3, 4, 6, 3)):
            width = 64 << stage
            for block in range(1, blocks + 1):
                name = f"conv{stage + 2}_block{block}"
                stride = 2 if block == blocks and stage < 3 else 1
                self.add_norm(name + "_preact", inputs)
                if block == 1:
                    setattr(self, name + "_0_conv", nn.Conv2d(inputs, 4 * width, 1))
                setattr(self, name + "_1_conv", nn.Conv2d(inputs, width, 1, bias=False))
                self.add_norm(name + "_1", width)
                three = nn.Conv2d(width, width, 3, stride, 1, bias=False)
                setattr(self, name + "_2_conv", three)
                self.add_norm(name + "_2", width)
                setattr(self, name + "_3_conv", nn.Conv2d(width, 4 * width, 1))
                inputs = 4 * width
                self.blocks.append((name, block == 1, stride))
        self.add_norm("post", inputs)
        self.predictions = nn.Linear(inputs, classes)

    def add_norm(self, name, channels):
        setattr(self, name + "_bn", nn.BatchNorm2d(channels, eps=1.001e-5, momentum=0.01))

    def active(self, name, x):
        return F.relu(getattr(self, name + "_bn")(x))

    def forward(self, x):
        x = F.max_pool2d(F.pad(self.conv1_conv(x), (1, 1, 1, 1)), 3, 2)
        for name, project, stride in self.blocks:
            y = self.active(name + "_preact", x)
            if project:
                x = getattr(self, name + "_0_conv")(y)
            elif stride > 1:
                x = F.max_pool2d(x, 1, stride)
            y = self.active(name + "_1", getattr(self, name + "_1_conv")(y))
            y = self.active(name + "_2", getattr(self, name + "_2_conv")(y))
            x = x + getattr(self, name + "_3_conv")(y)
        return self.predictions(self.active("post", x).mean((2, 3)))


MODELS = {"cnn": Cnn, "resnet50": ResNet50, "resnet50v2": ResNet50V2}


def build(model, images, state):
    last_bias = {"cnn": "fc2.bias", "resnet50": "fc.bias", "resnet50v2": "predictions.bias"}[model]
    classes = state[last_bias].shape[0]
    network = MODELS[model](images.shape[1], images.shape[2], classes)
    network.load_state_dict(state, strict=True)
    return network


DOUBLE = [("f64", torch.float64, torch.contiguous_format)]
SINGLE = [
    ("f32", torch.float32, torch.contiguous_format),
    ("f32_channels_last", torch.float32, torch.channels_last),
]


def each_kind(kinds, model, given):
    """(name, network, images, labels)"""
    given = read_tensors(given)
    images, labels = given.pop("images"), given.pop("labels")
    for kind, dtype, layout in kinds:
        network = build(model, images, given).to(dtype).to(memory_format=layout).train()
        yield kind, network, images.to(dtype).contiguous(memory_format=layout), labels


def gradients(model, given, out):
    found = {}
    for kind, network, images, labels in each_kind(DOUBLE + SINGLE, model, given):
        logits = network(images)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        found[f"{kind}:loss"] = loss
        found[f"{kind}:logits"] = logits
        for name, parameter in network.named_parameters():
            found[f"{kind}:gradient:{name}"] = parameter.grad
        for name, buffer in network.named_buffers():
            found[f"{kind}:buffer:{name}"] = buffer
    write_tensors(out, found)


def losses(model, batch, lr, momentum, given, out):
    found = {}
    for kind, network, images, labels in each_kind(SINGLE, model, given):
        optimizer = torch.optim.SGD(network.parameters(), lr=float(lr), momentum=float(momentum))
        of_steps = []
        for some, their in zip(images.split(int(batch)), labels.split(int(batch))):
            loss = F.cross_entropy(network(some), their)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            of_steps.append(loss.item())
        found[kind] = torch.tensor(of_steps, dtype=torch.float64)
    write_tensors(out, found)


def cifar_images(path, state):
    """Images and labels of cifar10, prepared as the checkpoint with this state.json was trained."""
    records = np.fromfile(path, np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    pixels = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy()).float() / 255
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    mean = torch.tensor(state["normalization"]["mean"]).view(1, 3, 1, 1)
    std = torch.tensor(state["normalization"]["std"]).view(1, 3, 1, 1)
    return (pixels - mean) / std, labels


def evaluate(model, checkpoint, data):
    """A checkpoint of cifar10 over its test images, as PyTorch sees them."""
    state = json.load(open(checkpoint + "/state.json"))
    images, labels = cifar_images(data + "/test_batch.bin", state)
    network = build(model, images, read_tensors(checkpoint + "/model.safetensors")).eval()
    with torch.no_grad():
        logits = network(images)
    loss = F.cross_entropy(logits, labels).item()
    accuracy = (logits.argmax(1) == labels).double().mean().item()
    steps = network.bn1.num_batches_tracked.item()
    print(json.dumps({"loss": loss, "accuracy": accuracy, "steps": steps}))


if __name__ == "__main__":
    torch.set_num_threads(1)  # threads that spin for each other are slow among other tests
    {"gradients": gradients, "losses": losses, "evaluate": evaluate}[sys.argv[1]](*sys.argv[2:])
