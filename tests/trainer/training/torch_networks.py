"""The networks of trainer/models in PyTorch, for comparison in tests.

    torch_networks.py gradients MODEL GIVEN OUT         one step's loss, logits and gradients
    torch_networks.py losses MODEL BATCH LR MOMENTUM GIVEN OUT
                                                        of steps of SGD over the images in their order
    torch_networks.py evaluate MODEL CHECKPOINT DATA    loss and accuracy over cifar10's test images

Files are safetensors, read and written here: no package is needed for that.
"""
import json
import os
import struct
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.dont_write_bytecode = True  # would be written beside the sources
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../bench/gpu"))
import torch_models  # the models that the benchmarks time
import torch_sequences

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


def build(model, images, state):
    if model in torch_sequences.SIZES:
        network = torch_sequences.gpt2(model, state["transformer.wte.weight"].shape[0])
        network.load_state_dict(state, strict=True)
        return network
    if model in torch_sequences.VIT_SIZES:
        network = torch_sequences.vit(model, images.shape[1], state)
        network.load_state_dict(state, strict=True)
        return network
    last_bias = {"cnn": "fc2.bias", "resnet50": "fc.bias", "resnet50v2": "predictions.bias"}[model]
    classes = state[last_bias].shape[0]
    if model == "cnn":
        network = Cnn(images.shape[1], images.shape[2], classes)
    else:
        network = torch_models.MODELS[model](images.shape[1], classes)
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
        if model in torch_sequences.SIZES:
            yield kind, network, images.long(), labels
        else:
            yield kind, network, images.to(dtype).contiguous(memory_format=layout), labels


def gradients(model, given, out):
    found = {}
    for kind, network, images, labels in each_kind(DOUBLE + SINGLE, model, given):
        logits = network(images)
        loss = F.cross_entropy(logits.flatten(0, -2), labels)  # one label for each token
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
        if model in torch_sequences.SIZES and found:  # nothing in it has channels: the same again
            found[kind] = found["f32"]
            continue
        optimizer = torch.optim.SGD(network.parameters(), lr=float(lr), momentum=float(momentum))
        of_steps = []
        labels = labels.view(len(images), -1)  # of a sequence one for each token
        for some, their in zip(images.split(int(batch)), labels.split(int(batch))):
            loss = F.cross_entropy(network(some).flatten(0, -2), their.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            of_steps.append(loss.item())
        found[kind] = torch.tensor(of_steps, dtype=torch.float64)
    write_tensors(out, found)


def cifar_images(path, state):
    """Returns cifar10's images and labels, prepared as in the training of this state.json."""
    records = np.fromfile(path, np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    pixels = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy()).float() / 255
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    mean = torch.tensor(state["normalization"]["mean"]).view(1, 3, 1, 1)
    std = torch.tensor(state["normalization"]["std"]).view(1, 3, 1, 1)
    return (pixels - mean) / std, labels


def evaluate(model, checkpoint, data):
    """Evaluates a cifar10 checkpoint on its test images in PyTorch."""
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
    torch.set_num_threads(1)  # spinning threads are slow beside other tests
    {"gradients": gradients, "losses": losses, "evaluate": evaluate}[sys.argv[1]](*sys.argv[2:])
