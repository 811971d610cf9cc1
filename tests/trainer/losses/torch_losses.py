"""Losses of PyTorch on given numbers: JSON on stdin, JSON on stdout, in double.

[{"loss": "softmax_cross_entropy", "smoothing": 0.1, "outputs": [[...]], "labels": [...] or
  "values": [[...]]}] -> [{"loss": mean over rows, "gradient": [[...]]}]
"""
import json
import sys

import torch
from torch.nn import functional


def answer(case):
    outputs = torch.tensor(case["outputs"], dtype=torch.float64, requires_grad=True)
    width = outputs.shape[1]
    smoothing = case["smoothing"]
    if case["loss"] == "softmax_cross_entropy":
        labels = torch.tensor(case["labels"])
        loss = functional.cross_entropy(outputs, labels, label_smoothing=smoothing)
    else:
        if "labels" in case:
            labels = torch.tensor(case["labels"])
            values = functional.one_hot(labels, width).double()
        else:
            values = torch.tensor(case["values"], dtype=torch.float64)
        if case["loss"] == "sigmoid_cross_entropy":
            values = values * (1 - smoothing) + smoothing / 2
            loss = functional.binary_cross_entropy_with_logits(outputs, values)
        else:
            loss = functional.mse_loss(outputs, values)
    loss.backward()
    return {"loss": loss.item(), "gradient": outputs.grad.tolist()}


json.dump([answer(case) for case in json.load(sys.stdin)], sys.stdout)
