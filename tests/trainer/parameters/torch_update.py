"""Steps of AdamW on several parameters: JSON on stdin, JSON on stdout.

{"parameters": [[[...], ...], ...], "gradients": [[...], ...], "lr", "betas", "eps", "weight_decay",
 "clip_norm", "ema_decay"} -> {"norms": [...], "weights": [...], "averages": [...]}, after all steps
"""
import json
import sys

import torch
from torch.optim.swa_utils import AveragedModel

case = json.load(sys.stdin)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.all = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.tensor(p, dtype=torch.float64)) for p in case["parameters"]]
        )


network = Network()
decay = case["ema_decay"]
average = AveragedModel(network, avg_fn=lambda old, new, count: decay * old + (1 - decay) * new)
average.update_parameters(network)  # the first call copies
# As GPT-2 is trained: nanoGPT's configure_optimizers().
groups = [
    {"params": [p for p in network.all if p.dim() >= 2], "weight_decay": case["weight_decay"]},
    {"params": [p for p in network.all if p.dim() < 2], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=case["lr"], betas=case["betas"], eps=case["eps"])
norms = []
for step in case["gradients"]:
    for parameter, gradient in zip(network.all, step):
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
    norms.append(float(torch.nn.utils.clip_grad_norm_(network.all, case["clip_norm"])))
    optimizer.step()
    average.update_parameters(network)
json.dump(
    {
        "norms": norms,
        "weights": [p.tolist() for p in network.all],
        "averages": [p.tolist() for p in average.module.all],
    },
    sys.stdout,
)
