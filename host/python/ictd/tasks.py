"""Tasks as arrays: the trainer's batches for other networks, and files of tasks for the command line."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._ictd import Batches, Task
from ._ictd import load as _load

__all__ = ["Batch", "OwnTasks", "batch", "batches", "load", "prompts", "save"]

#: Tasks of your own, or the arrays of a file of tasks or of logged transitions by their names.
OwnTasks: TypeAlias = Sequence[Task] | Mapping[str, ArrayLike]


@dataclass(frozen=True, eq=False)
class Batch:
    """W windows of n transitions that slide along a trajectory of one task, as in training."""

    #: The batch's number, from 0. Each task of a recipe has `batches` of them, 5 by default.
    number: int
    gamma: float
    #: Z_0 of windows 0 to W, (W + 1, 2 d + 1, n + 1), float32: columns (phi; gamma phi'; reward), then the query (phi; 0; 0).
    prompts: NDArray[np.float32]
    #: The reward on leaving the query's state, (W,). The target of window t's value is `reward[t] + gamma * value of window t + 1`.
    reward: NDArray[np.float32]
    #: The true values of the queries, (W + 1,); NaN where they are not known.
    value: NDArray[np.float32]
    #: The trajectory, (n + W + 2, d).
    phi: NDArray[np.float32]

    def __repr__(self) -> str:
        return f"<ictd.tasks.Batch {self.number}, prompts of shape {self.prompts.shape}>"


def batches(
    seed: int = 0, recipe: Mapping[str, Any] | None = None, *, tasks: OwnTasks | None = None, start: int = 0
) -> Iterator[Batch]:
    """The batches that `ictd.train(recipe, [seed])` trains on, in order and without end, from number `start`.

    recipe, tasks: as for `ictd.train`. `ValueError` names the setting that cannot be used.
    """
    stream = Batches(settings(recipe), None if tasks is None else content_of(tasks), seed)
    n, gamma = stream.context_length, stream.gamma

    def all_of_them() -> Iterator[Batch]:
        for number in itertools.count(start):
            phi, reward, value = stream.batch(number)
            windows = len(reward) - n
            at = np.arange(windows)[:, None] + np.arange(n)
            z = prompts(phi[at[:, [*range(n), n - 1]] + ([0] * n + [1])], reward[at], phi[n + 1 :][:, None], gamma)
            yield Batch(number, gamma, z[:, 0], reward[n + 1 :], value[n + 1 :], phi)

    return all_of_them()


def batch(
    seed: int, number: int, recipe: Mapping[str, Any] | None = None, *, tasks: OwnTasks | None = None
) -> Batch:
    """One batch of `batches`. Earlier batches are drawn, too: use an iterator for many."""
    return next(batches(seed, recipe, tasks=tasks, start=number))


def prompts(phi: ArrayLike, reward: ArrayLike, query: ArrayLike, gamma: float) -> NDArray[Any]:
    """Z_0 of each query after each context, (B, m, 2 d + 1, n + 1).

    phi: (B, n + 1, d), the states of a trajectory; reward: (B, n); query: (B, m, d). `ValueError` names what does not fit.
    """
    phi, reward, query = _reals("phi", phi, 3), _reals("reward", reward, 2), _reals("query", query, 3)
    (count, rows, d), m = phi.shape, query.shape[1]
    for name, array, shape in (("reward", reward, (count, rows - 1)), ("query", query, (count, m, d))):
        if array.shape != shape:
            raise ValueError(f"{name}: shape {array.shape}; expected {shape}, with phi of {phi.shape}")
    z = np.zeros((count, m, 2 * d + 1, rows), dtype=np.result_type(phi, reward, query))
    z[..., :d, :-1] = phi[:, None, :-1].swapaxes(2, 3)
    z[..., d : 2 * d, :-1] = phi.dtype.type(gamma) * phi[:, None, 1:].swapaxes(2, 3)
    z[..., 2 * d, :-1] = reward[:, None]
    z[..., :d, -1] = query
    return z


def _reals(name: str, given: ArrayLike, axes: int) -> NDArray[Any]:
    array = np.asarray(given)
    if array.ndim != axes or array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: {array.dtype} of shape {array.shape}; expected real numbers with {axes} axes")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def save(path: str | os.PathLike[str], tasks: OwnTasks) -> None:
    """Writes tasks with equal numbers of states and features, or a log, for the command line's `--task FILE.npz`."""
    content = content_of(tasks)
    with open(path, "wb") as file:
        file.write(content)


def content_of(tasks: OwnTasks) -> bytes:
    """The content of an .npz file with these tasks."""
    if isinstance(tasks, Mapping):
        arrays: dict[str, Any] = {name: np.asarray(array) for name, array in tasks.items()}
    else:
        if not isinstance(tasks, Iterable):
            raise ValueError(f"tasks: {tasks!r}; expected a list of tasks")
        tasks = list(tasks)
        if not tasks:
            raise ValueError("tasks: none; expected at least one")
        for at, task in enumerate(tasks):
            if not isinstance(task, Task):
                raise ValueError(f"tasks[{at}]: {type(task).__name__}; expected an ictd.Task")
            if (task.phi.shape, task.gamma) != (tasks[0].phi.shape, tasks[0].gamma):
                raise ValueError(f"tasks[{at}]: {task!r}; expected the shapes and gamma of tasks[0], {tasks[0]!r}")
        parts = ("p", "reward", "phi", "p0", "terminal")
        arrays = {name: np.stack([getattr(task, name) for task in tasks]) for name in parts}
        arrays["gamma"] = np.float64(tasks[0].gamma)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def load(path: str | os.PathLike[str], gamma: float = 0.9) -> list[Task]:
    """The tasks of an .npz file; gamma: their discount, if the file has none.

    Raises `FileNotFoundError`, or `ValueError` naming the array that does not define tasks.
    """
    with open(path, "rb") as file:
        return _load(os.fspath(path), file.read(), gamma)


def settings(recipe: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """A recipe as command-line options: a pair is a range, a list the names of several tasks."""

    def text(value: Any) -> str:
        if isinstance(value, tuple) and len(value) == 2:
            return f"{value[0]}..{value[1]}"
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)

    return [(name.replace("_", "-"), text(value)) for name, value in (recipe or {}).items()]
