"""Trains the same networks in JAX as one would write it, and prints the processor seconds per seed of a whole run.

    python speed_jax.py --seeds 16 [--layers L] [--dim D] [--context-length N] [--states S] [--attention softmax] ...

It takes the options of `ictd train` that the table of speed.md has, and prints `-` for a network that it lacks.
Each task is a chain with random features and rewards, which also stands for CartPole and costs less than its physics and tiles.
Each batch is a trajectory, whose 65 windows go through the transformer of the paper's equations; Adam follows the gradient of the
squared TD errors. All is one jitted function of all seeds, on one thread.
"""

import argparse
import os
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("--seeds", type=int, default=16)
parser.add_argument("--layers", type=int, default=3)
parser.add_argument("--dim", type=int, default=4)
parser.add_argument("--context-length", type=int, default=30)
parser.add_argument("--states", type=int, default=10)
parser.add_argument("--attention", choices=["linear", "softmax"], default="linear")
parser.add_argument("--layer-sharing", choices=["autoregressive", "sequential"], default="autoregressive")
parser.add_argument("--trace-decay", type=float, default=0.0)
parser.add_argument("--task", choices=["cartpole"])
parser.add_argument("--tasks", type=int, default=4000)
parser.add_argument("--measured", type=int, default=1, help="the tasks of each measurement")
o, unknown = parser.parse_known_args()
if unknown:
    print("-")
    raise SystemExit

K, D, N, WINDOWS, BATCHES, GAMMA, RATE = 2 * o.dim + 1, o.dim, o.context_length, 64, 5, 0.9, 1e-3
STORED = o.layers if o.layer_sharing == "sequential" else 1
lag = jnp.arange(N + 1)[:, None] - jnp.arange(N + 1)[None, :]
MASK = jnp.where((lag >= 0) & (jnp.arange(N + 1) < N)[:, None], o.trace_decay ** jnp.maximum(lag, 0.0), 0.0).T


def attend(layer, z):
    """Returns Z + (1/n) P Z M attention(Z^T Q Z)."""
    weighted = layer[0] @ z @ MASK
    if o.attention == "softmax":
        return z + weighted @ jax.nn.softmax(z.T @ layer[1] @ z, axis=1) / N
    return z + weighted @ z.T @ layer[1] @ z / N


def value(layers, z):
    for i in range(o.layers):
        z = attend(layers[i % STORED], z)
    return -z[-1, -1]


def prompts(features, rewards):
    tokens = jnp.concatenate([features[:-1].T, GAMMA * features[1:].T, rewards[None]])

    def at(t):
        context = jax.lax.dynamic_slice(tokens, (0, t), (K, N))
        query = jnp.zeros(K).at[:D].set(features[t + N])
        return jnp.concatenate([context, query[:, None]], axis=1)

    return jax.vmap(at)(jnp.arange(WINDOWS + 1))


def loss(layers, features, rewards):
    v = jax.vmap(value, in_axes=(None, 0))(layers, prompts(features, rewards))
    target = rewards[N : N + WINDOWS] + GAMMA * jax.lax.stop_gradient(v[1:])
    return jnp.mean((target - v[:-1]) ** 2)


def batch(state, task):
    layers, first, second, number, at, key = state
    phi, reward = task
    key, one = jax.random.split(key)

    def step(s, u):
        return jnp.where(u < 0.5, s + 1, s + 2) % o.states, s

    at, visited = jax.lax.scan(step, at, jax.random.uniform(one, (N + WINDOWS + 1,)))
    gradient = jax.grad(loss)(layers, phi[visited], reward[visited[:-1]])
    number, first, second = number + 1, 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
    rate = RATE * jnp.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    return (layers - rate * first / (jnp.sqrt(second) + 1e-8), first, second, number, at, key), None


def train_task(state, _):
    key, a, b = jax.random.split(state[-1], 3)
    task = jax.random.uniform(a, (o.states, D), minval=-1.0), jax.random.uniform(b, (o.states,), minval=-1.0)
    state, _ = jax.lax.scan(lambda s, _: batch(s, task), (*state[:-1], key), None, BATCHES)
    return state, None


@jax.jit
def train(states):
    return jax.lax.scan(jax.vmap(train_task, in_axes=(0, None)), states, None, o.measured)[0]


def initial(key):
    layers = 0.1 * jax.random.normal(key, (STORED, 2, K, K)) / jnp.sqrt(K)
    return layers, jnp.zeros_like(layers), jnp.zeros_like(layers), jnp.zeros(()), jnp.zeros((), int), key


states = jax.vmap(initial)(jax.random.split(jax.random.key(0), o.seeds))
states = jax.block_until_ready(train(states))
start = time.process_time()
states = jax.block_until_ready(train(states))
assert bool(jnp.isfinite(states[0]).all()), "the training stays finite"
print(f"{(time.process_time() - start) / o.measured * o.tasks / o.seeds:.2f}")
