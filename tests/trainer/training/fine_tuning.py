"""Writes PyTorch weights for a training, and checks the result with PyTorch.

    fine_tuning.py write FILE CLASSES            a small network, its tensors of five types
    fine_tuning.py write_resnet FILE             torchvision's resnet50 in half precision
    fine_tuning.py follow FILE DATA RUN...       the same training in PyTorch; how far the runs'
                                                 losses and last checkpoints are from it

Files are safetensors, read and written here: no package is needed for that.
"""
import glob
import json
import struct
import sys

import torch
from torch import nn
from torch.nn import functional as F

from torch_networks import cifar_images, torch_models

TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
}


def write_tensors(path, tensors):
    words = {dtype: word for word, dtype in TYPES.items()}
    header, offset, pieces = {"__metadata__": {"format": "pt"}}, 0, []
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        flat = tensor.detach().contiguous().reshape(-1)
        if flat.dtype == torch.bfloat16:
            flat = flat.view(torch.int16)
        piece = flat.numpy().tobytes()
        header[name] = {
            "dtype": words[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(piece)],
        }
        offset += len(piece)
        pieces.append(piece)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(pieces))


def read_tensors(path):
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(content[begin:end]), dtype=TYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


class Small(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, stride=2)
        self.bn2 = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def write(path, classes):
    torch.manual_seed(7)
    network = Small(int(classes)).train()
    with torch.no_grad():
        network.bn1.weight.uniform_(0.5, 1.5)
        network.bn1.bias.uniform_(-0.5, 0.5)
        for _ in range(5):  # unique statistics
            network(torch.randn(4, 3, 32, 32))
    tensors = network.state_dict()
    tensors["conv1.weight"] = tensors["conv1.weight"].half()
    tensors["conv1.bias"] = tensors["conv1.bias"].bfloat16()
    tensors["bn1.weight"] = tensors["bn1.weight"].bfloat16()
    tensors["bn1.running_var"] = tensors["bn1.running_var"].half()
    tensors["fc.weight"] = tensors["fc.weight"].double()
    write_tensors(path, tensors)


def write_resnet(path):
    torch.manual_seed(7)
    tensors = torch_models.ResNet50(3, 10).half().state_dict()
    write_tensors(path, tensors)


FROZEN = ("conv1.", "bn1.")


def train(network, steps, images, labels):
    """Runs steps of all images with layers frozen by requires_grad. Returns the losses."""
    network.train()
    for name, parameter in network.named_parameters():
        parameter.requires_grad = not name.startswith(FROZEN)
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9, weight_decay=0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def distance(tensors, exact):
    """Returns the largest relative difference (in norm) over tensors."""
    return max(
        ((tensors[name].double() - expected.double()).norm() / expected.double().norm()).item()
        for name, expected in exact.items()
    )


def follow(path, data, *runs):
    print(json.dumps({"runs": [follow_one(path, data, run) for run in runs]}))


def follow_one(path, data, run):
    checkpoint = max(glob.glob(run + "/checkpoints/step-*"))
    state = json.load(open(checkpoint + "/state.json"))
    result = read_tensors(checkpoint + "/model.safetensors")
    Small(10).load_state_dict(result, strict=True)

    start = {name: tensor.float() for name, tensor in read_tensors(path).items()}
    images, labels = cifar_images(data + "/data_batch_1.bin", state)
    own_losses = [float(line) for line in open(run + "/losses")]
    single, exact = Small(10), Small(10).double()
    single.load_state_dict(start, strict=True)
    exact.load_state_dict(start, strict=True)
    train(single, len(own_losses), images, labels)
    losses = train(exact, len(own_losses), images.double(), labels)

    answer = {"frozen": 0, "changed": [], "moved": [], "still": []}
    for name, parameter in exact.named_parameters():
        if parameter.requires_grad:
            moved = not torch.equal(result[name], start[name])
            answer["moved" if moved else "still"].append(name)
        else:
            answer["frozen"] += 1
            if not torch.equal(result[name], start[name]):
                answer["changed"].append(name)
    answer["losses"] = max(abs(a / b - 1) for a, b in zip(own_losses, losses))
    answer["distance"] = distance(result, exact.state_dict())
    answer["pytorch_distance"] = distance(single.state_dict(), exact.state_dict())
    answer["steps"] = result["bn1.num_batches_tracked"].item()
    answer["statistics"] = not torch.equal(result["bn1.running_mean"], start["bn1.running_mean"])
    return answer


if __name__ == "__main__":
    torch.set_num_threads(1)  # spinning threads are slow beside other tests
    {"write": write, "write_resnet": write_resnet, "follow": follow}[sys.argv[1]](*sys.argv[2:])
