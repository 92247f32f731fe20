"""Trains a small network of JAX on the tasks of the paper's trainer, asks the judge whether it has become TD, and enters it in the suite.

    pip install jax && python other_network.py [BATCHES]

The network is a transformer as anybody would write it: softmax attention of four heads over the columns of the prompt and a layer
of perceptrons, each on normalised inputs, twice, and the value from the last column. The loss is the squared TD error, with its target held fixed; Adam's
step follows.
"""

import itertools
import sys

import ictd
import jax
import jax.numpy as jnp
import numpy as np

RECIPE = {"dim": 4, "context_length": 30, "layers": 3}
TOKEN, WIDTH, HEADS, LAYERS, RATE = 2 * RECIPE["dim"] + 1, 32, 4, 2, 1e-3


def initial(key):
    def normal(*shape):
        nonlocal key
        key, one = jax.random.split(key)
        return jax.random.normal(one, shape) / np.sqrt(shape[0])

    layer = lambda: {m: normal(WIDTH, WIDTH) for m in ("query", "key", "value", "up", "down")}  # noqa: E731
    return {"embed": normal(TOKEN, WIDTH), "layers": [layer() for _ in range(LAYERS)], "out": normal(WIDTH) / WIDTH}


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def heads(x):
    """(n + 1, WIDTH) as (HEADS, n + 1, WIDTH / HEADS)."""
    return x.reshape(len(x), HEADS, -1).swapaxes(0, 1)


def value(parameters, prompt):
    """The value of the query of one prompt, (2 d + 1, n + 1)."""
    x = prompt.T @ parameters["embed"]
    for m in parameters["layers"]:
        query, key, content = (heads(norm(x) @ m[name]) for name in ("query", "key", "value"))
        scores = query @ key.swapaxes(1, 2) / np.sqrt(WIDTH / HEADS)
        x = x + (jax.nn.softmax(scores) @ content).swapaxes(0, 1).reshape(x.shape)
        x = x + jax.nn.relu(norm(x) @ m["up"]) @ m["down"]
    return norm(x)[-1] @ parameters["out"]


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


def function_of(parameters):
    """The network as a function of arrays. It does not read importance weights."""

    def function(phi, reward, query, rho=None):
        prompts = ictd.tasks.prompts(phi, reward, query, gamma=0.9).astype(np.float32)
        each = [np.asarray(values(parameters, of_context)) for of_context in prompts]
        return np.stack(each)

    return function


def judged(parameters, contexts=40):
    return ictd.judge(function_of(parameters), RECIPE, contexts=contexts)


if __name__ == "__main__":
    trained = train(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    verdict = judged(trained)
    print(verdict)
    for name, share in verdict.explained.items():
        print(f"{name:18} explains {share:.3f}")
    for length, *errors in zip(*verdict.msve.values()):
        print(f"context {length:3.0f}: " + ", ".join(f"{n} {e:.4f}" for n, e in zip(list(verdict.msve)[1:], errors)))
    scores = ictd.bench({"JAX": function_of(trained)})
    print(scores)
    scores.save("bench.json")
