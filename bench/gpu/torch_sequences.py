"""Transformers of trainer/models in PyTorch: GPT-2 with the names and shapes of Hugging Face's GPT2LMHeadModel, ViT with torchvision's.

bench/training/measure times GPT-2; tests/trainer/training/torch_networks.py compares losses and gradients.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Conv1D(nn.Module):
    """A dense layer with weight [inputs, outputs]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


def attend(query, key, value):
    """Causal; PyTorch's own function where there is one."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    tokens = query.shape[-2]
    seen = torch.ones(tokens, tokens, dtype=torch.bool).tril()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~seen, -math.inf).softmax(-1) @ value


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = Conv1D(width, 3 * width)
        self.c_proj = Conv1D(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.c_attn(x).split(width, dim=2)
        parts = [part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in parts]
        return self.c_proj(attend(*parts).transpose(1, 2).reshape(batch, tokens, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = Conv1D(width, 4 * width)
        self.c_proj = Conv1D(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """Returns logits [batch, tokens, vocabulary]; lm_head is transformer.wte."""

    def __init__(self, vocabulary, layers, width, heads, positions):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocabulary, width),
                "wpe": nn.Embedding(positions, width),
                "h": nn.ModuleList(Block(width, heads) for _ in range(layers)),
                "ln_f": nn.LayerNorm(width),
            }
        )

    def forward(self, ids):
        words, places = self.transformer["wte"], self.transformer["wpe"]
        x = words(ids) + places(torch.arange(ids.shape[1]))
        for block in self.transformer["h"]:
            x = block(x)
        return F.linear(self.transformer["ln_f"](x), words.weight)


class VitAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.empty(3 * width))
        self.out_proj = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = F.linear(x, self.in_proj_weight, self.in_proj_bias).split(width, dim=2)
        query, key, value = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in parts)
        scores = query @ key.transpose(-2, -1) / math.sqrt(width / self.heads)
        return self.out_proj((scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, tokens, width))


class VitBlock(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = VitAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(width, hidden), nn.GELU(), nn.Dropout(0), nn.Linear(hidden, width), nn.Dropout(0)
        )

    def forward(self, x):
        x = x + self.self_attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Vit(nn.Module):
    def __init__(self, channels, tokens, classes, layers, width, heads, hidden, patch):
        super().__init__()
        self.class_token = nn.Parameter(torch.empty(1, 1, width))
        self.conv_proj = nn.Conv2d(channels, width, patch, patch)
        self.encoder = nn.Module()
        self.encoder.pos_embedding = nn.Parameter(torch.empty(1, tokens, width))
        blocks = {f"encoder_layer_{i}": VitBlock(width, heads, hidden) for i in range(layers)}
        self.encoder.layers = nn.ModuleDict(blocks)
        self.encoder.ln = nn.LayerNorm(width, eps=1e-6)
        self.heads = nn.ModuleDict({"head": nn.Linear(width, classes)})

    def forward(self, images):
        x = self.conv_proj(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1) + self.encoder.pos_embedding
        for block in self.encoder.layers.values():
            x = block(x)
        return self.heads["head"](self.encoder.ln(x)[:, 0])


VIT_SIZES = {"vit": (12, 768, 12, 3072, 16), "vit-tiny": (2, 32, 2, 64, 4)}


def vit(model, channels, state):
    tokens, classes = state["encoder.pos_embedding"].shape[1], state["heads.head.bias"].shape[0]
    return Vit(channels, tokens, classes, *VIT_SIZES[model])


SIZES = {"gpt2": (12, 768, 12, 1024), "gpt2-mini": (6, 384, 6, 256), "gpt2-tiny": (2, 32, 2, 64)}


def gpt2(model, vocabulary):
    return Gpt2(vocabulary, *SIZES[model])
