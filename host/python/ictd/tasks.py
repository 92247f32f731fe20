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

__all__ = ["Batch", "OwnTasks", "batch", "batches", "load", "of_mdp", "prompts", "save"]

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

    recipe, tasks: as for `ictd.train`; layers and networks, which no batch depends on, may be any. A thread makes batches ahead.
    `ValueError` names the setting that cannot be used.
    """
    stream = Batches(settings(recipe), None if tasks is None else content_of(tasks), seed, start)

    def all_of_them() -> Iterator[Batch]:
        for number in itertools.count(start):
            yield Batch(number, stream.gamma, *stream.next())

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


#: The columns of a table of a Markov decision process, as craam2 writes it.
_COLUMNS = ("idstatefrom", "idaction", "idstateto", "probability", "reward")


def of_mdp(
    p: ArrayLike | Mapping[str, ArrayLike],
    reward: ArrayLike | None = None,
    *,
    policy: ArrayLike,
    phi: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    terminal: ArrayLike | None = None,
    gamma: float = 0.9,
) -> Task:
    """The task of a Markov decision process under a policy.

    p: (S, A, S), the probability of going from s under a to s'; reward: (S,), (S, A) or (S, A, S). Or p is a table (a
    `pandas.DataFrame`) with the columns idstatefrom, idaction, idstateto, probability and reward. policy: (S, A), the
    probability of each action, or (S,), the action. The rest is as for `ictd.Task`. `ValueError` names what does not fit.
    """
    if isinstance(p, Mapping) or hasattr(p, "columns"):
        if reward is not None:
            raise ValueError("reward: expected none beside a table, which has a column reward")
        p, reward = _dense(p)
    chances: NDArray[Any] = np.asarray(p, dtype=np.float64)
    gains: NDArray[Any] = np.asarray(reward, dtype=np.float64)
    chosen: NDArray[Any] = np.asarray(policy)
    if chances.ndim != 3 or chances.shape[0] != chances.shape[2]:
        swap = ": np.swapaxes(p, 0, 1)" if chances.ndim == 3 and chances.shape[1] == chances.shape[2] else ""
        raise ValueError(f"p: shape {chances.shape}; expected (S, A, S){swap}")
    states, actions, _ = chances.shape
    if chosen.shape == (states,) and chosen.dtype.kind in "iu" and ((0 <= chosen) & (chosen < actions)).all():
        chosen = np.eye(actions)[chosen]
    if chosen.shape != (states, actions) or not np.allclose(chosen.sum(1), 1) or (chosen < 0).any():
        raise ValueError(f"policy: expected ({states}, {actions}) probabilities, or ({states},) actions below {actions}")
    if gains.shape not in ((states,), (states, actions), (states, actions, states)):
        raise ValueError(f"reward: shape {gains.shape}; expected (S,), (S, A) or (S, A, S) with p of {chances.shape}")
    ends = np.zeros(states, bool) if terminal is None else np.asarray(terminal, bool)
    taken = (chosen > 0) & ~ends[:, None]
    if (missing := np.argwhere(taken & ~np.isclose(chances.sum(2), 1))).size:
        s, a = missing[0]
        raise ValueError(f"p: probabilities of state {s}, action {a} sum to {chances[s, a].sum():g}; expected 1")
    expected = (chances * gains).sum(2) if gains.ndim == 3 else gains.reshape(states, -1) * np.ones(actions)
    chain = np.where(ends[:, None], np.eye(states), np.einsum("sa,sat->st", chosen, chances))
    given = {"phi": phi, "p0": p0, "terminal": terminal}
    parts: dict[str, Any] = {name: array for name, array in given.items() if array is not None}
    return Task(p=chain, reward=(chosen * expected).sum(1), gamma=gamma, **parts)


def _dense(table: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probabilities and rewards, (S, A, S), of a table's rows; those of a repeated row are added."""
    names = list(table.keys())
    if missing := [name for name in _COLUMNS if name not in names]:
        raise ValueError(f"p: no column {missing[0]}; expected {', '.join(_COLUMNS)}")
    if unknown := [name for name in names if name not in _COLUMNS]:
        raise ValueError(f"p: unknown column {unknown[0]}; expected {', '.join(_COLUMNS)}")
    source, action, target = (np.asarray(table[name]) for name in _COLUMNS[:3])
    if any(of.dtype.kind not in "iu" or len(of) == 0 or of.min() < 0 for of in (source, action, target)):
        raise ValueError("p: expected idstatefrom, idaction, idstateto as integers from 0")
    probability, reward = (np.asarray(table[name], dtype=np.float64) for name in _COLUMNS[3:])
    states = int(max(source.max(), target.max())) + 1
    p = np.zeros((states, int(action.max()) + 1, states))
    weighted = np.zeros_like(p)
    np.add.at(p, (source, action, target), probability)
    np.add.at(weighted, (source, action, target), probability * reward)
    return p, np.divide(weighted, p, out=np.zeros_like(p), where=p > 0)


def settings(recipe: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """A recipe as command-line options: a pair is a range, a list the names of several tasks."""

    def text(value: Any) -> str:
        if isinstance(value, tuple) and len(value) == 2:
            return f"{text(value[0])}..{text(value[1])}"
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)

    return [(name.replace("_", "-"), text(value)) for name, value in (recipe or {}).items()]
