"""The judge of value functions, of whatever library: is it TD, and how wrong is it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import tasks as of_tasks
from ._ictd import Contexts, Model, Task

__all__ = ["Verdict", "judge"]

#: Half of the difference of a query's feature, of which the values' differences are the gradient.
STEP = 1e-2

ValueFunction = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], ArrayLike]


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the judge says, as means over the contexts that fitted nothing."""

    #: The value difference sum_s d(s) (v(s) - v_TD(s))^2, the implicit weight similarity and the sensitivity similarity, beside
    #: as many iterations of TD(0) as there are layers, with the step sizes that explain most.
    vd: float
    iws: float
    ss: float
    #: The share of |v|^2 that each algorithm's iterations explain: "TD(0)" and its rivals; negative if worse than 0.
    explained: dict[str, float]
    #: Mean squared value errors by context length, columns for `pandas.DataFrame`: `length`; `model`, the function's;
    #: `zero`, predicting 0; `td0`, TD(0) with the step sizes that are best for the truth; `lstd`, LSTD(0).
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
    tasks: Sequence[Task] | None = None,
    contexts: int = 200,
    lengths: Sequence[int] | None = None,
    seed: int = 0,
) -> Verdict:
    """Judges a value function on contexts of fresh tasks, the same ones for the same recipe and seed.

    function: a `Model`, or a function of phi, (B, n + 1, d), reward, (B, n), and query, (B, m, d), that returns the values of
    the queries after each context, (B, m); `ictd.tasks.prompts` makes prompts of these. recipe, tasks: as `ictd.train` takes
    them; `layers` (1 to 4) says how many iterations are compared. lengths: of the contexts whose errors are measured.
    """
    found = Contexts(of_tasks.settings(recipe), list(tasks) if tasks is not None else None, contexts, seed)
    phi, reward, query = found.arrays()
    (count, m, d), n = query.shape, reward.shape[1]
    if isinstance(function, Model):
        model, gamma = function, found.gamma
        function = lambda phi, reward, query: np.stack(  # noqa: E731
            [model.values(*one, query=q, gamma=gamma) for one, q in zip(zip(phi, reward), query)]
        )

    def values(length: int, query: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.asarray(function(phi[:, : length + 1], reward[:, :length], query), dtype=np.float64)
        if found.shape != query.shape[:2]:
            raise ValueError(f"function: values of shape {found.shape}; expected {query.shape[:2]}, one for each query")
        return found

    moved = query[:, :, None, None] + STEP * np.stack([np.eye(d), -np.eye(d)])
    ends = values(n, moved.reshape(count, -1, d)).reshape(count, m, 2, d)
    whole = found.judge(n, values(n, query), (ends[:, :, 0] - ends[:, :, 1]) / (2 * STEP))
    if lengths is None:
        lengths = np.unique(np.geomspace(1, n, 7).round().astype(int)).tolist()
    errors = np.array([found.judge(k, values(k, query), None)["msve"] if k < n else whole["msve"] for k in lengths])
    columns = dict(zip(("model", "zero", "td0", "lstd"), errors.T))
    msve = {"length": np.array(lengths, dtype=float), **columns}
    return Verdict(whole["vd"], whole["iws"], whole["ss"], dict(whole["explained"]), msve)
