"""Figures 1 and 2 of the paper, in ten lines each: `python host/python/examples/figures.py [FOLDER]`."""

import sys

import ictd
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

folder = sys.argv[1] if len(sys.argv) > 1 else "."

# %% Figure 1: one fixed transformer reads ever longer contexts of 300 random tasks.
lengths = range(5, 41, 5)
model = ictd.Model.td0(d=5, alpha=0.2, layers=15, gamma=0.9)
error = np.zeros((300, len(lengths)))
for i in range(300):
    task = ictd.Task("mdp", seed=i, d=5, states=10)
    for j, n in enumerate(lengths):
        v = model.values(*task.sample(n, seed=i), query=task.phi)
        error[i, j] = task.distribution @ (v - task.value) ** 2
plt.errorbar(lengths, error.mean(0), error.std(0, ddof=1) / np.sqrt(300))
plt.xlabel("context length"), plt.ylabel("mean squared value error"), plt.ylim(0)
plt.savefig(f"{folder}/figure-1.png")

# %% Figure 2: nobody told P and Q to become TD's.
runs = ictd.train({"tasks": 4000}, seeds=range(4))
figure, axes = plt.subplots(1, 2, figsize=(8, 4))
for name, axis in zip("pq", axes):
    final = [getattr(run, name)[-1, 0] * np.sign(run.p[-1, 0, -1, -1]) for run in runs]
    mean = np.mean([m / np.abs(m).max() for m in final], axis=0)
    axis.imshow(mean, cmap="RdBu_r", vmin=-1, vmax=1)
    axis.set_title(f"{name.upper()} after 4000 tasks")
plt.savefig(f"{folder}/figure-2.png")
