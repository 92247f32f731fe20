"""Trains a small network of PyTorch on the tasks of the paper's trainer, and asks the judge whether it has become TD.

    pip install torch && python other_network.py [BATCHES]

The network is a transformer as anybody would write it: two layers of softmax attention over the columns of the prompt, a
projection, the value from the last column. The loss is the squared TD error, with its target held fixed.
"""

import itertools
import sys

import ictd
import numpy as np
import torch
from torch import nn

RECIPE = {"dim": 4, "context_length": 30, "layers": 3}


class Network(nn.Module):
    def __init__(self, token: int, width: int = 32, layers: int = 2):
        super().__init__()
        self.embed = nn.Linear(token, width)
        layer = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=2 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.value = nn.Linear(width, 1)

    def forward(self, prompts):
        """prompts: (B, 2 d + 1, n + 1); the values of the queries, (B,)."""
        return self.value(self.layers(self.embed(prompts.transpose(1, 2)))[:, -1])[:, 0]


def train(batches: int) -> Network:
    torch.manual_seed(0)
    network = Network(token=2 * RECIPE["dim"] + 1)
    adam = torch.optim.Adam(network.parameters(), lr=1e-3)
    for batch in itertools.islice(ictd.tasks.batches(0, RECIPE), batches):
        values = network(torch.from_numpy(batch.prompts))
        target = torch.from_numpy(batch.reward) + batch.gamma * values[1:].detach()
        loss = ((target - values[:-1]) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return network


def values_of(network: Network):
    """The network as the judge takes it: a function of arrays."""

    def values(phi, reward, query):
        prompts = ictd.tasks.prompts(phi, reward, query, gamma=0.9).astype(np.float32)
        with torch.no_grad():
            flat = network(torch.from_numpy(prompts.reshape(-1, *prompts.shape[2:])))
        return flat.numpy().reshape(query.shape[:2])

    return values


if __name__ == "__main__":
    network = train(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    verdict = ictd.judge(values_of(network), RECIPE, contexts=40)
    print(verdict)
    for name, share in verdict.explained.items():
        print(f"{name:18} explains {share:.3f}")
    for length, *errors in zip(*verdict.msve.values()):
        print(f"context {length:3.0f}: " + ", ".join(f"{n} {e:.4f}" for n, e in zip(list(verdict.msve)[1:], errors)))
