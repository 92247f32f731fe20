"""Evaluates value functions of any library: the algorithms that explain them, and their errors."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import runs
from . import tasks as of_tasks
from ._ictd import Contexts, Model, Suite

__all__ = ["Benchmark", "Verdict", "bench", "judge"]

#: The step in a query's features of the central differences that give the gradients.
STEP = 1e-2

ValueFunction = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], ArrayLike]


@dataclass(frozen=True, eq=False)
class Verdict:
    """The metrics of a value function: means over the contexts that did not fit step sizes."""

    #: The value difference sum_s d(s) (v(s) - v_TD(s))^2, the implicit weight similarity and the sensitivity similarity,
    #: compared with iterations of TD(0), one per layer of the recipe, with the step sizes that explain most.
    vd: float
    iws: float
    ss: float
    #: The share of |v|^2 that each algorithm's iterations explain: "TD(0)" and the others; negative if worse than 0.
    explained: dict[str, float]
    #: Mean squared value errors by context length, columns for `pandas.DataFrame`: `length`; `model`, the function's;
    #: `zero`, predicting 0; `td0`, TD(0) with the best step sizes for the true values; `lstd`, LSTD(0) with ridge 0.3.
    msve: dict[str, NDArray[np.float64]]

    def __repr__(self) -> str:
        msve, zero = self.msve["model"][-1], self.msve["zero"][-1]
        td0 = self.explained["TD(0)"]
        return (
            f"<ictd.Verdict vd={self.vd:.3g}, iws={self.iws:.3f}, ss={self.ss:.3f}, explained by TD(0) {td0:.3f}, "
            f"msve={msve:.3g} (predicting 0: {zero:.3g})>"
        )


def judge(
    function: Model | ValueFunction,
    recipe: Mapping[str, Any] | None = None,
    *,
    tasks: of_tasks.OwnTasks | None = None,
    contexts: int = 200,
    lengths: Sequence[int] | None = None,
    seed: int = 0,
) -> Verdict:
    """Evaluates a value function on contexts of fresh tasks; equal recipes and seeds give equal contexts.

    function: a `Model`, or a function of phi, (B, n + 1, d), reward, (B, n), and query, (B, m, d), that returns the values of
    the queries after each context, (B, m); `ictd.tasks.prompts` makes prompts of these. A `Model` computes with the
    recipe's discount. recipe, tasks: as for
    `ictd.train`; `layers` is the number of iterations of the compared algorithms, by default 3. lengths: the context lengths
    of the errors, from 1 to the recipe's.
    """
    found = Contexts(of_tasks.settings(recipe), None if tasks is None else of_tasks.content_of(tasks), contexts, seed)
    phi, reward, query = found.arrays()
    (count, m, d), n = query.shape, reward.shape[1]
    if lengths is None:
        lengths = np.unique(np.geomspace(1, n, 7).round().astype(int)).tolist()
    if len(lengths) == 0:
        raise ValueError("lengths: none; expected at least one context length")
    for length in lengths:
        if not 1 <= length <= n:
            raise ValueError(f"lengths: {length}; expected 1 to {n}, the context length of the recipe")
    if isinstance(function, Model):
        model, gamma = function, found.gamma
        function = lambda phi, reward, query: np.stack(  # noqa: E731
            [model.values(*one, query=q, gamma=gamma) for one, q in zip(zip(phi, reward), query)]
        )

    def values(length: int, query: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.asarray(function(phi[:, : length + 1], reward[:, :length], query))
        if np.iscomplexobj(found):
            raise ValueError("function: complex values; expected real ones")
        found = found.astype(np.float64)
        if found.shape != query.shape[:2]:
            raise ValueError(f"function: values of shape {found.shape}; expected {query.shape[:2]}, one for each query")
        return found

    moved = query[:, :, None, None] + STEP * np.stack([np.eye(d), -np.eye(d)])
    ends = values(n, moved.reshape(count, -1, d)).reshape(count, m, 2, d)
    gradients = (ends[:, :, 0] - ends[:, :, 1]) / (2 * STEP)
    vd, iws, ss, explained, at_end = found.judge(n, values(n, query), gradients)
    errors = np.array([found.judge(k, values(k, query), None)[-1] if k < n else at_end for k in lengths])
    columns = dict(zip(("model", "zero", "td0", "lstd"), errors.T))
    msve = {"length": np.array(lengths, dtype=float), **columns}
    return Verdict(vd, iws, ss, dict(explained), msve)


BenchFunction = Callable[[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]], ArrayLike]


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Value functions on the suite of `ictd bench`: squared value errors over those of predicting 0; smaller is better."""

    contexts: int
    seed: int
    #: For each name the score with its 90 % interval, (mean, low, high), by task and as "mean"; None without one.
    scores: dict[str, dict[str, tuple[float, float, float] | None]]

    def __repr__(self) -> str:
        columns = list(next(iter(self.scores.values())))
        width = max(map(len, self.scores)) + 2
        lines = ["".ljust(width) + " ".join(name.rjust(13) for name in columns)]
        for name, of in self.scores.items():
            cells = ["-" if score is None else f"{score[0]:.2f}±{score[2] - score[0]:.2f}" for score in of.values()]
            lines.append(name.ljust(width) + " ".join(cell.rjust(13) for cell in cells))
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the scores as JSON, with the names of the command line's results.json."""
        names = ("mean", "low", "high")
        scores = {n: {t: s and dict(zip(names, s)) for t, s in of.items()} for n, of in self.scores.items()}
        found = {"suite": 1, "seed": self.seed, "contexts": self.contexts, "scores": scores}
        Path(path).write_text(json.dumps(found, indent=2) + "\n")


@functools.cache
def _transformer() -> Model:
    """Trains the suite's transformer, once for a process."""
    return runs.train()[0].model()


def bench(
    entries: Mapping[str, Model | BenchFunction] | None = None, *, contexts: int = 200, seed: int = 0
) -> Benchmark:
    """Compares value functions on the suite of `ictd bench`, with the numbers of the command line.

    entries: by name; models of 4 features, or functions of phi, (B, 101, 4), reward, (B, 100), query, (B, m, 4), and the
    importance weights, (B, 100), 1 in all tasks but one, that return the values of the queries after each context, (B, m), for
    gamma = 0.9. TD(0), LSTD(0.9), preconditioned TD, the universal model and a transformer that is trained in a few seconds
    are compared with them. seed: of the contexts.
    """
    models: dict[str, Model | BenchFunction] = {
        "TD(0)": Model.batch_td(),
        "LSTD(0.9)": Model.lstd(),
        "preconditioned TD": Model.preconditioned_td(4, 2.4, 0.44, layers=3),
        "universal": Model.universal(),
        "transformer": _transformer(),
        **(entries or {}),
    }
    scores: dict[str, dict[str, tuple[float, float, float] | None]] = {name: {} for name in models}
    for task in Suite.tasks():
        suite = Suite(task, contexts, seed)
        for name, model in models.items():
            scores[name][task] = suite.score_of(model) if isinstance(model, Model) else suite.score(model(*suite.arrays()))
    for of in scores.values():
        each = [score for score in of.values() if score is not None]
        of["mean"] = Suite.mean(each) if len(each) == len(of) else None
    return Benchmark(contexts, seed, scores)
