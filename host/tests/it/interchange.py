"""The other side of the interchange test: what a user of NumPy writes and reads.

    interchange.py write DIR      their files: a training log, parameters, transitions
    interchange.py read DIR       our files, checked; the values that they give, as JSON
    interchange.py plot DIR CODE  the authors' own plotting code and model, from their repository CODE

NumPy alone is needed, except for `plot`.
"""

import json
import os
import struct
import sys

import numpy as np

D, L, GAMMA, N = 3, 2, 0.9, 25


def params(mode):
    return {
        "d": D, "s": 10, "n": N, "l": L, "gamma": GAMMA, "activation": "identity",
        "sample_weight": False, "mode": mode, "n_mrps": 20, "mini_batch_size": 64,
        "n_batch_per_mrp": 5, "lr": 0.001, "weight_decay": 1e-06, "log_interval": 10,
        "random_seed": 1, "linear": True, "mrp_class": "boyan",
    }


def write(directory):
    rng = np.random.default_rng(7)
    k = 2 * D + 1
    for mode, save in (("auto", np.savez), ("sequential", np.savez_compressed)):
        layers = 1 if mode == "auto" else L
        folder = os.path.join(directory, mode)
        os.makedirs(folder)
        log = {
            "xs": np.array([10, 20]), "alpha": np.array([0.9, 0.8]),
            "v_tf v_td msve": rng.random(2), "implicit_weight_sim": rng.random(2),
            "sensitivity cos sim": rng.random(2),
            "P": rng.normal(scale=0.3, size=(2, layers, k, k)).astype(np.float32),
            # In column-major order, as a transposed array is saved.
            "Q": np.asfortranarray(rng.normal(scale=0.3, size=(2, layers, k, k)).astype(np.float32)),
        }
        save(os.path.join(folder, "data.npz"), **log)
        with open(os.path.join(folder, "params.json"), "w") as file:
            json.dump(params(mode), file)
    phi = rng.uniform(-1, 1, (N + 1, D))
    np.savez(
        os.path.join(directory, "transitions.npz"),
        phi=phi[:-1], phi_next=phi[1:].astype(np.float32), reward=rng.uniform(-1, 1, N),
        query=rng.uniform(-1, 1, (4, D)),
    )


def safetensors(path):
    """The tensors of a .safetensors file, from the format's description."""
    with open(path, "rb") as file:
        content = file.read()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, info in header.items():
        start, end = info["data_offsets"]
        assert info["dtype"] == "F32", info
        data = np.frombuffer(content[8 + size:][start:end], dtype="<f4")
        tensors[name] = data.reshape(info["shape"]).astype(np.float64)
    return tensors, metadata


def value(layers, transitions, phi):
    """The paper's equation, literally, in float64."""
    n = len(transitions["reward"])
    z = np.zeros((2 * D + 1, n + 1))
    z[:D, :n] = transitions["phi"].T
    z[D:2 * D, :n] = GAMMA * transitions["phi_next"].T
    z[2 * D, :n] = transitions["reward"]
    z[:D, n] = phi
    mask = np.eye(n + 1)
    mask[n, n] = 0
    for p, q in layers:
        z = z + p @ z @ mask @ (z.T @ q @ z) / n
    return -z[-1, -1]


def read(directory):
    with np.load(os.path.join(directory, "transitions.npz")) as data:
        transitions = {name: data[name].astype(np.float64) for name in data}
    values = {}
    for mode in ("auto", "sequential"):
        tensors, metadata = safetensors(os.path.join(directory, mode, "parameters.safetensors"))
        sharing = "autoregressive" if mode == "auto" else mode
        assert metadata["mode"] == sharing and metadata["L"] == str(L), metadata
        names = ["attn"] * L if mode == "auto" else [f"layers.{l}" for l in range(L)]
        layers = [(tensors[f"{name}.P"], tensors[f"{name}.Q"]) for name in names]
        values[mode] = [value(layers, transitions, phi) for phi in transitions["query"]]
    # Ours in the form of the authors' training code.
    for seed in (0, 1):
        folder = os.path.join(directory, f"seed_{seed}")
        with np.load(os.path.join(folder, "data.npz")) as data:
            log = {name: data[name] for name in data}
        with open(os.path.join(folder, "params.json")) as file:
            settings = json.load(file)
        assert settings.keys() == params("auto").keys(), settings
        points, k = len(log["xs"]), 2 * settings["d"] + 1
        expected = {
            "xs": ("int64", (points,)), "alpha": ("float64", (points,)),
            "v_tf v_td msve": ("float64", (points,)), "implicit_weight_sim": ("float64", (points,)),
            "sensitivity cos sim": ("float64", (points,)),
            "P": ("float32", (points, 1, k, k)), "Q": ("float32", (points, 1, k, k)),
        }
        found = {name: (str(array.dtype), array.shape) for name, array in log.items()}
        assert found == expected, found
        assert list(log["xs"]) == [10, 20, 30], log["xs"]
        assert log["P"][1, 0, -1, -1] == np.float32(1 + seed), log["P"][1]
        assert log["Q"][2, 0, 0, 1] == np.float32(-0.01), log["Q"][2]
    json.dump(values, sys.stdout)


def plot(directory, code):
    """Their plotting code on our run; their model on our parameters and ours on theirs."""
    sys.path.insert(0, code)
    import matplotlib
    matplotlib.use("Agg")
    import torch
    from experiment import plotter
    from experiment.model import Transformer

    # Two seeds written for this test, and those of a run as `ictd train` leaves it.
    for run in (directory, os.path.join(directory, "run", "train")):
        seeds = [os.path.join(run, f"seed_{seed}") for seed in (0, 1)]
        out = os.path.join(run, "figures")
        os.makedirs(out)
        plotter.plot_error_data(seeds, out)
        plotter.plot_attn_params(seeds, out)
        plotter.plot_weight_metrics(seeds, out)
    with np.load(os.path.join(directory, "transitions.npz")) as data:
        transitions = {name: data[name].astype(np.float32) for name in data}
    context = torch.from_numpy(np.vstack([
        transitions["phi"].T, np.float32(GAMMA) * transitions["phi_next"].T,
        transitions["reward"][None],
    ]))
    values = {}
    for mode in ("auto", "sequential"):
        tensors, _ = safetensors(os.path.join(directory, mode, "parameters.safetensors"))
        model = Transformer(D, N, L, "identity", mode)
        # The names are those of their module: nothing is renamed, nothing may be missing.
        state = {name: torch.from_numpy(x.astype(np.float32)) for name, x in tensors.items()}
        model.load_state_dict(state, strict=True)
        fitted = model.fit_value_func(context, torch.from_numpy(transitions["query"]))
        values[mode] = fitted.detach().numpy().flatten().astype(float).tolist()
    values["figures"] = sorted(os.listdir(out))
    values["figures of the other"] = sorted(os.listdir(os.path.join(directory, "figures")))
    json.dump(values, sys.stdout)


if __name__ == "__main__":
    {"write": write, "read": read, "plot": plot}[sys.argv[1]](*sys.argv[2:])
