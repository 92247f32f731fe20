"""Training runs: of `train`, or read from the folder of a run of the command line."""

from __future__ import annotations

import html
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _ictd
from .tasks import OwnTasks, content_of
from .tasks import settings as _settings

__all__ = ["SeedRun", "load_run", "table", "train"]


@dataclass(frozen=True, eq=False)
class SeedRun:
    """The result of one seed of a run, with the T points of its log and its S stored layers (1 or L)."""

    seed: int
    #: The digest of the final parameters' bits: equal on every machine.
    digest: str
    #: The content of the seed's `params.json`: what else `model` has to know, by the names of the authors' code.
    settings: dict[str, Any]
    #: Columns of length T: `tasks`, `alpha`, `loss`, `vd`, `iws`, `ss`, `msve`; for `pandas.DataFrame`.
    metrics: dict[str, NDArray[Any]]
    #: P, (T, S, 2 d + 1, 2 d + 1); S is 0 for an RNN.
    p: NDArray[np.float32]
    #: Q, with the shape of P.
    q: NDArray[np.float32]

    def __repr__(self) -> str:
        logged = len(self.metrics["tasks"])
        tasks = self.metrics["tasks"][-1] if logged else 0
        return f"<ictd.SeedRun seed={self.seed}, digest={self.digest}, {tasks} tasks, {logged} log points>"

    def _repr_html_(self) -> str:
        """The figure that a notebook shows: the last P and Q of each stored layer, and the metrics during training."""
        sign = -1 if self.p.shape[1] and self.p[-1, 0, -1, -1] < 0 else 1
        layers = [(f"{name}, layer {l + 1}", sign * m[-1, l]) for l in range(self.p.shape[1]) for name, m in (("P", self.p), ("Q", self.q))]
        panels = [_heatmap(title, m) for title, m in layers]
        tasks = self.metrics["tasks"]
        panels += [_curve(name, tasks, self.metrics[name]) for name in ("loss", "vd", "iws", "ss", "msve")]
        return f"<p>{html.escape(repr(self))}</p>" + "".join(panels)

    def model(self, gamma: float | None = None, layers: int | None = None) -> _ictd.Model:
        """The transformer that was trained, as `Model.load` reads it. layers: another L, if all share one layer.

        gamma: the run's; `values` takes another one. `ValueError` for an RNN, and for a seed that diverged.
        """
        if self.p.shape[1] == 0:
            raise ValueError("network: an RNN; expected a run of a transformer")
        if not (np.isfinite(self.p[-1]).all() and np.isfinite(self.q[-1]).all()):
            raise ValueError(f"seed {self.seed} diverged in training: its P and Q are not finite; expected a smaller learning_rate, or another seed")
        return _ictd.Model._of_run(self.p[-1], self.q[-1], json.dumps(self.settings).encode(), gamma, layers)


def train(
    recipe: Mapping[str, Any] | None = None,
    seeds: Iterable[int] = (0,),
    *,
    tasks: OwnTasks | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = False,
    threads: int | None = None,
    on_log: Callable[[int, dict[str, float]], object] | None = None,
) -> list[SeedRun]:
    """Trains by multi-task TD (Algorithm 1): one result for each seed, in ascending order.

    recipe: the options of the command line's `train` by name (`{"layers": 1, "batch_size": 32}`; a range is a pair, several
    tasks are a list); the defaults are the paper's main experiment. tasks: your own, each drawn with the same probability,
    which decide `dim` and `gamma`, or logged transitions, `{"phi": (n, d), "reward": (n,), "terminal": (n,), ...}` with the
    names and meanings of `Model.values`, and `task`, (n,), if there are several; `{"task": "FILE.npz"}` reads either from
    a file. folder: keeps the run in a folder named
    after its recipe, like the command line's `--out`; resumes a run that has begun, and reads finished seeds. progress:
    a line on stderr. threads: by default one for each processor; results do not depend on it. on_log: called with a seed
    and its metrics at each point of its log, from other threads; an exception in it ends the run, and so does Ctrl-C, with
    `KeyboardInterrupt`. `ValueError` names the setting that cannot be used.
    """
    if threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    seeds = list(seeds)
    each = dict(_settings(recipe)).get("tasks", "4000")
    told = _Progress(each, len(set(seeds)), on_log) if progress else on_log
    own = None if tasks is None else content_of(tasks)
    found = _ictd.train(_settings(recipe), seeds, threads, told, own, folder)
    if isinstance(told, _Progress):
        told.finish()
    return [_seed_run(run) for run in found]


def _panel(title: str, label: str, content: str) -> str:
    text = f'<text x="4" y="14">{title}</text><text x="4" y="174" fill="gray">{label}</text>'
    return f'<svg width="170" height="180" font-family="sans-serif" font-size="12" fill="currentColor">{text}{content}</svg>'


def _heatmap(title: str, m: NDArray[np.float32]) -> str:
    """A matrix over its largest entry: red above 0, blue below."""
    largest, cell = float(np.abs(m).max()), 140 / len(m)
    place = 'width="{0:.2f}" height="{0:.2f}" x="{1:.2f}" y="{2:.2f}" fill="rgb({3},{4},{5})"'
    rects = []
    for (row, column), x in np.ndenumerate(m / largest if largest > 0 else m):
        pale = round(255 * (1 - abs(float(x)))) if np.isfinite(x) else 128
        red, blue = (255, pale) if x > 0 else (pale, 255)
        rects.append(f"<rect {place.format(cell, 4 + column * cell, 20 + row * cell, red, pale, blue)}/>")
    return _panel(title, f"largest {largest:.3g}", "".join(rects))


def _curve(title: str, x: NDArray[Any], y: NDArray[np.float64]) -> str:
    """A metric against the number of tasks, where it is finite; nothing without two points."""
    x, y = x[np.isfinite(y)].astype(float), y[np.isfinite(y)]
    if len(y) < 2:
        return ""
    low, high = float(y.min()), float(y.max())
    across, up = 4 + 150 * x / x.max(), 158 - 134 * (y - low) / ((high - low) or 1.0)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up))
    return _panel(title, f"{low:.3g} to {high:.3g}", f'<polyline points="{points}" fill="none" stroke="#2a78b5" stroke-width="1.5"/>')


class _Progress:
    """Writes the progress of all seeds to stderr, at each point of a log."""

    def __init__(self, each: str, seeds: int, on_log: Callable[[int, dict[str, float]], object] | None) -> None:
        self._of = f"of {each} tasks" if seeds == 1 else f"of {seeds} x {each} tasks"
        self._on_log, self._done, self._lock = on_log, dict[int, float](), threading.Lock()

    def __call__(self, seed: int, log: dict[str, float]) -> None:
        with self._lock:
            self._done[seed] = log["tasks"]
            print(f"\r{sum(self._done.values()):.0f} {self._of}", end="", file=sys.stderr, flush=True)
        if self._on_log is not None:
            self._on_log(seed, log)

    def finish(self) -> None:
        print(file=sys.stderr, flush=True)


def load_run(path: str | os.PathLike[str]) -> list[SeedRun]:
    """The finished seeds in the folder of a run of `train`, or of a sweep, in ascending order, from their checkpoints.

    Raises `FileNotFoundError` if the folder is not there, `ValueError` if it is not a run's, or damaged.
    """
    return [_seed_run(run) for run in _ictd.load_run(path)]


def _seed_run(run: dict[str, Any]) -> SeedRun:
    return SeedRun(**{**run, "settings": json.loads(run["settings"])})


def table(runs: Iterable[SeedRun]) -> dict[str, NDArray[Any]]:
    """The metrics of all seeds, concatenated, with a column `seed`: for `pandas.DataFrame`."""
    runs = list(runs)
    if not runs:
        raise ValueError("runs: none; expected at least one")
    columns = {"seed": np.concatenate([np.full(len(run.metrics["tasks"]), run.seed) for run in runs])}
    for name in runs[0].metrics:
        columns[name] = np.concatenate([run.metrics[name] for run in runs])
    return columns
