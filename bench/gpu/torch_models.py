"""The residual networks of trainer/models in PyTorch, with our parameter names.

bench/gpu/torch_steps.py times them; tests/trainer/training/torch_networks.py compares losses, gradients and statistics.
"""

from torch import nn
from torch.nn import functional as F


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
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)), inplace=True)


class ResNet50(nn.Module):
    """v1.5, with torchvision's names."""

    def __init__(self, channels, classes):
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
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x)), inplace=True), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class ResNet50V2(nn.Module):
    """Like keras.applications: the last block of a stage has the stride."""

    def __init__(self, channels, classes):
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
        return F.relu(getattr(self, name + "_bn")(x), inplace=True)

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
        return self.predictions(F.adaptive_avg_pool2d(self.active("post", x), 1).flatten(1))


MODELS = {"resnet50": ResNet50, "resnet50v2": ResNet50V2}
