"""Steps of torch.optim on given numbers: JSON on stdin, JSON on stdout.

[{"name": "Adam", "options": {...}, "type": "float64", "weights": [...], "gradients": [[...], ...],
  "rates": [...]}] -> [{"weights": [[...], ...], "states": {"exp_avg": [...]}}], weights after each step
"""
import json
import sys

import torch


def walk(case):
    kind = getattr(torch, case["type"])
    weights = torch.nn.Parameter(torch.tensor(case["weights"], dtype=kind))
    optimizer = getattr(torch.optim, case["name"])([weights], **case["options"])
    trace = []
    for gradient, rate in zip(case["gradients"], case["rates"]):
        weights.grad = torch.tensor(gradient, dtype=kind)
        if rate is not None:
            optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        trace.append(weights.detach().double().tolist())
    states = {
        name: value.double().tolist()
        for name, value in optimizer.state[weights].items()
        if torch.is_tensor(value) and value.dim() > 0
    }
    return {"weights": trace, "states": states}


json.dump([walk(case) for case in json.load(sys.stdin)], sys.stdout)
