"""Trains a small network of JAX on the tasks of the paper's trainer, and asks the judge whether it has become TD.

    pip install jax && python other_network.py [BATCHES]

The network is a transformer as anybody would write it: softmax attention over the columns of the prompt and a layer of
perceptrons, twice, and the value from the last column. The loss is the squared TD error, with its target held fixed; Adam's
step follows.
"""

import itertools
import sys

import ictd
import jax
import jax.numpy as jnp
import numpy as np

RECIPE = {"dim": 4, "context_length": 30, "layers": 3}
TOKEN, WIDTH, LAYERS, RATE = 2 * RECIPE["dim"] + 1, 32, 2, 1e-3


def initial(key):
    def normal(*shape):
        nonlocal key
        key, one = jax.random.split(key)
        return jax.random.normal(one, shape) / np.sqrt(shape[0])

    layer = lambda: {m: normal(WIDTH, WIDTH) for m in ("query", "key", "value", "up", "down")}  # noqa: E731
    return {"embed": normal(TOKEN, WIDTH), "layers": [layer() for _ in range(LAYERS)], "out": normal(WIDTH) / WIDTH}


def value(parameters, prompt):
    """The value of the query of one prompt, (2 d + 1, n + 1)."""
    x = prompt.T @ parameters["embed"]
    for m in parameters["layers"]:
        scores = (x @ m["query"]) @ (x @ m["key"]).T / np.sqrt(WIDTH)
        x = x + jax.nn.softmax(scores) @ x @ m["value"]
        x = x + jax.nn.relu(x @ m["up"]) @ m["down"]
    return x[-1] @ parameters["out"]


values = jax.jit(jax.vmap(value, in_axes=(None, 0)))


def loss(parameters, prompts, reward, gamma):
    v = values(parameters, prompts)
    return jnp.mean((reward + gamma * jax.lax.stop_gradient(v[1:]) - v[:-1]) ** 2)


@jax.jit
def step(parameters, moments, number, prompts, reward, gamma):
    gradient = jax.grad(loss)(parameters, prompts, reward, gamma)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    second = jax.tree.map(lambda m, g: 0.999 * m + 0.001 * g * g, moments[1], gradient)
    rate = RATE * jnp.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    moved = jax.tree.map(lambda p, a, b: p - rate * a / (jnp.sqrt(b) + 1e-8), parameters, first, second)
    return moved, (first, second)


def train(batches):
    parameters = initial(jax.random.key(0))
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    moments = (zeros, zeros)
    for number, batch in enumerate(itertools.islice(ictd.tasks.batches(0, RECIPE), batches), 1):
        parameters, moments = step(parameters, moments, number, batch.prompts, batch.reward, batch.gamma)
    return parameters


def judged(parameters, contexts=40):
    """What the judge says of the network, as a function of arrays."""

    def function(phi, reward, query):
        prompts = ictd.tasks.prompts(phi, reward, query, gamma=0.9).astype(np.float32)
        return np.asarray(values(parameters, prompts.reshape(-1, *prompts.shape[2:]))).reshape(query.shape[:2])

    return ictd.judge(function, RECIPE, contexts=contexts)


if __name__ == "__main__":
    verdict = judged(train(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
    print(verdict)
    for name, share in verdict.explained.items():
        print(f"{name:18} explains {share:.3f}")
    for length, *errors in zip(*verdict.msve.values()):
        print(f"context {length:3.0f}: " + ", ".join(f"{n} {e:.4f}" for n, e in zip(list(verdict.msve)[1:], errors)))
