"""Logs of transitions as other programs lay them out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Log"]

#: The arrays of a log that `Model.values` takes.
NAMES = ("phi", "reward", "phi_next", "terminal", "end", "rho")


class Log(Mapping[str, NDArray[Any]]):
    """Transitions in their order: a mapping of the arrays that `Model.values`, `ictd.train` and `ictd.tasks.save` take.

    >>> log = ictd.Log.d4rl("hopper.npz")
    >>> model.values(**log, query=states)
    >>> ictd.train(recipe, tasks=log)

    phi: features (or observations, for an `ictd.Encoder`), (n, d). reward: (n,). phi_next: (n, d). terminal, end: (n,), true
    where the next state is terminal, whose value is 0, or where the episode was truncated. rho: (n,), importance weights, or
    None. actions: as logged, (n, ...), or None; no value depends on them. Every layout can be a path to an .npz file, an open
    HDF5 file, or any other mapping of arrays.
    """

    def __init__(
        self,
        phi: ArrayLike,
        reward: ArrayLike,
        phi_next: ArrayLike,
        terminal: ArrayLike | None = None,
        end: ArrayLike | None = None,
        rho: ArrayLike | None = None,
        actions: ArrayLike | None = None,
    ) -> None:
        n = np.shape(reward)[0] if np.ndim(reward) else 0
        self._arrays: dict[str, NDArray[Any]] = {
            "phi": _table("phi", phi),
            "reward": _column("reward", reward, n),
            "phi_next": _table("phi_next", phi_next),
            "terminal": _marks("terminal", terminal, n),
            "end": _marks("end", end, n),
        }
        if rho is not None:
            self._arrays["rho"] = _column("rho", rho, n)
        shape = (n, self._arrays["phi"].shape[1])
        for name in ("phi", "phi_next"):
            if self._arrays[name].shape != shape:
                raise ValueError(f"{name}: shape {self._arrays[name].shape}; expected {shape}, a row for each reward")
        self.actions: NDArray[Any] | None = None if actions is None else np.asarray(actions)
        if self.actions is not None and self.actions.shape[:1] != (n,):
            raise ValueError(f"actions: shape {self.actions.shape}; expected ({n}, ...), one for each reward")

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @property
    def episodes(self) -> int:
        """The number of episodes, of which the last one may go on."""
        ended = self["terminal"].astype(bool) | self["end"].astype(bool)
        return int(ended.sum()) + (len(ended) > 0 and not ended[-1])

    @property
    def has_constant(self) -> bool:
        """True if some weights give all states the same value. Without a constant feature, values have no level of their own."""
        phi = self["phi"][:10_000]
        weights = np.linalg.lstsq(phi, np.ones(len(phi)), rcond=None)[0]
        return bool(np.abs(phi @ weights - 1).max(initial=0.0) < 1e-6)

    def __repr__(self) -> str:
        n, d = self["phi"].shape
        kept = "" if self.actions is None else ", with actions"
        constant = "" if self.has_constant else ", no constant feature (ictd.Encoder.standard adds one)"
        return f"<ictd.Log {n} transitions, {self.episodes} episodes, d={d}{kept}{constant}>"

    @classmethod
    def arrays(cls, given: Any, ignore: Iterable[str] = (), **names: str) -> Log:
        """A log whose arrays have other names: `Log.arrays("log.npz", phi="observations", reward="rewards", ignore=["t"])`.

        names: our names (phi, reward, phi_next, terminal, end, rho, actions) and those in the file, if they differ. Without
        phi_next the next row is the next state, and a row at the end of an episode that is not terminal only closes it.
        ignore: arrays that are not used; any other unknown array is a `ValueError`.
        """
        arrays, ignore = _open(given), set(ignore)
        for name in names:
            if name not in (*NAMES, "actions"):
                raise ValueError(f"{name}: unknown; expected one of {', '.join((*NAMES, 'actions'))}")
        sources = {name: names.get(name, name) for name in (*NAMES, "actions")}
        for name, source in names.items():
            if source not in arrays:
                raise ValueError(f"{name}: {source!r} is missing; the file holds {', '.join(arrays)}")
        if absent := sorted(ignore - set(arrays)):
            raise ValueError(f"ignore: {absent[0]!r} is missing; the file holds {', '.join(arrays)}")
        if unknown := sorted(set(arrays) - set(sources.values()) - ignore):
            raise ValueError(
                f"{unknown[0]}: unknown; expected names for it (phi={unknown[0]!r}, reward=..., end=...), or it in ignore"
            )
        found = {name: arrays[source] for name, source in sources.items() if source in arrays}
        for name in ("phi", "reward"):
            if name not in found:
                raise ValueError(f"{name}: missing; the file holds {', '.join(arrays)}")
        return cls(**found) if "phi_next" in found else cls._from_rows(**found)

    @classmethod
    def _from_rows(
        cls,
        phi: Any,
        reward: Any,
        terminal: Any = None,
        end: Any = None,
        rho: Any = None,
        actions: Any = None,
    ) -> Log:
        """A log in which the next row is the next state; a row that is not terminal and ends an episode only closes it."""
        phi = _table("phi", phi)
        rows = len(phi)
        terminal, end = _marks("terminal", terminal, rows).astype(bool), _marks("end", end, rows).astype(bool)
        last = np.arange(rows) == rows - 1
        closes = (end | last) & ~terminal
        kept = np.flatnonzero(~closes)
        # The transition before a row that closes an episode is its last one.
        cut = np.append(closes[1:], True)[kept] & ~terminal[kept]
        phi_next = np.where(terminal[:, None], 0.0, np.roll(phi, -1, axis=0))[kept]
        of = {"reward": reward, "rho": rho, "actions": actions}
        given = {name: np.asarray(array) for name, array in of.items() if array is not None}
        for name, array in given.items():
            if len(array) not in (rows, rows - 1) or len(array) < rows and terminal[-1]:
                raise ValueError(f"{name}: shape {array.shape}; expected ({rows}, ...), the rows of phi")
        parts = {name: array[kept] for name, array in given.items()}
        return cls(phi=phi[kept], phi_next=phi_next, terminal=terminal[kept], end=cut, **parts)

    @classmethod
    def sb3(cls, given: Any, terminated: ArrayLike = False) -> Log:
        """The layout of Stable-Baselines3's expert data: obs, actions, rewards, episode_starts (and episode_returns).

        It does not record how an episode ended, nor its last observation: by default the last row of an episode only closes
        it. terminated: true, for all or for each episode, counts its last row's next state as terminal, with value 0.
        """
        arrays = _with("sb3", given, ("obs", "rewards", "episode_starts"), ("actions", "episode_returns"))
        starts = np.asarray(arrays["episode_starts"]).astype(bool)
        last = np.append(starts[1:], True)
        try:
            ended = np.broadcast_to(np.asarray(terminated, bool), (int(last.sum()),))
        except ValueError:
            raise ValueError(f"terminated: shape {np.shape(terminated)}; expected ({last.sum()},), one for each episode") from None
        terminal = np.zeros(len(starts), bool)
        terminal[last] = ended
        return cls._from_rows(arrays["obs"], arrays["rewards"], terminal, last, actions=arrays.get("actions"))

    @classmethod
    def imitation(cls, given: Any) -> Log:
        """The layout of the package imitation: obs (n + episodes, d), acts, rews, terminal (episodes,), indices (and infos)."""
        arrays = _with("imitation", given, ("obs", "rews", "terminal", "indices"), ("acts", "infos"))
        obs, rews = np.asarray(arrays["obs"]), np.asarray(arrays["rews"])
        cuts, ended = np.asarray(arrays["indices"]).astype(int), np.asarray(arrays["terminal"]).astype(bool)
        if len(ended) != len(cuts) + 1:
            raise ValueError(f"indices: {len(cuts)} cuts; expected {len(ended) - 1}, one fewer than terminal")
        if len(obs) != len(rews) + len(ended):
            raise ValueError(f"obs: {len(obs)} rows; expected {len(rews) + len(ended)}, one more than rews in each episode")
        lengths = np.diff(np.concatenate([[0], cuts, [len(rews)]]))
        if (lengths < 1).any():
            raise ValueError(f"indices: {cuts.tolist()[:5]}; expected ascending cuts of {len(rews)} rewards")
        # Each episode has one observation more than rewards.
        rows = np.arange(len(rews)) + np.repeat(np.arange(len(ended)), lengths)
        last = np.cumsum(lengths) - 1
        terminal, end = np.zeros(len(rews), bool), np.zeros(len(rews), bool)
        terminal[last], end[last] = ended, ~ended
        return cls(obs[rows], rews, obs[rows + 1], terminal, end, actions=arrays.get("acts"))

    @classmethod
    def d4rl(cls, given: Any) -> Log:
        """The layout of D4RL: observations, next_observations, actions, rewards, terminals, timeouts (and infos/...).

        `timeouts` are truncations. Without next_observations the next row is the next state, and a row at a timeout only
        closes its episode.
        """
        needed, optional = ("observations", "rewards", "terminals"), ("timeouts", "next_observations", "actions")
        arrays = _with("d4rl", given, needed, optional)
        named = {"end": "timeouts", "phi_next": "next_observations", "actions": "actions"}
        more = {name: arrays[source] for name, source in named.items() if source in arrays}
        make = cls if "phi_next" in more else cls._from_rows
        return make(phi=arrays["observations"], reward=arrays["rewards"], terminal=arrays["terminals"], **more)

    @classmethod
    def minari(cls, episodes: Any, observation: str | None = None) -> Log:
        """The episodes of Minari: a dataset, one episode or buffer, or any number of them.

        Each has observations (T + 1), actions, rewards, terminations and truncations (T). observation: the key, if
        observations are dictionaries.
        """
        episodes = [episodes] if hasattr(episodes, "observations") else list(episodes)
        if not episodes:
            raise ValueError("episodes: none; expected at least one")
        logs = [cls._of_episode(at, episode, observation) for at, episode in enumerate(episodes)]
        parts = {name: np.concatenate([log[name] for log in logs]) for name in logs[0]}
        actions = [log.actions for log in logs if log.actions is not None]
        return cls(**parts, actions=np.concatenate(actions) if len(actions) == len(logs) else None)

    @classmethod
    def _of_episode(cls, at: int, episode: Any, key: str | None) -> Log:
        observations = episode.observations
        if isinstance(observations, Mapping):
            if key not in observations:
                raise ValueError(f"observation: {key!r}; expected one of {', '.join(map(str, observations))}")
            observations = observations[key]
        observations, rewards = np.asarray(observations), np.asarray(episode.rewards)
        n = len(rewards)
        if len(observations) != n + 1:
            raise ValueError(f"episodes[{at}]: {len(observations)} observations; expected {n + 1}, one more than rewards")
        # A buffer may be cut before its episode ends.
        end = np.asarray(episode.truncations, bool).copy()
        end[-1:] |= not np.asarray(episode.terminations, bool)[-1:].any()
        actions = episode.actions
        actions = None if actions is None or isinstance(actions, (Mapping, tuple)) else actions
        return cls(observations[:-1], rewards, observations[1:], episode.terminations, end, actions=actions)


def _open(given: Any) -> dict[str, Any]:
    """The arrays of a file or mapping; those of pickled objects stay unread."""
    if isinstance(given, (str, os.PathLike)):
        given = np.load(given)
    if not hasattr(given, "keys"):
        raise ValueError(f"given: {type(given).__name__}; expected a path to an .npz file, or a mapping of arrays")
    return _Lazy({name: given for name in given.keys()})


class _Lazy(dict[str, Any]):
    """Arrays that are read when they are asked for."""

    def __getitem__(self, name: str) -> Any:
        return np.asarray(super().__getitem__(name)[name])

    def get(self, name: str, default: Any = None, /) -> Any:
        return self[name] if name in self else default


def _with(layout: str, given: Any, needed: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    """The arrays of a layout; `ValueError` for one that is missing, or not of the layout."""
    arrays = _open(given)
    present = ", ".join(arrays)
    if missing := [name for name in needed if name not in arrays]:
        raise ValueError(f"{missing[0]}: missing in the layout of {layout}; the file holds {present}")
    unknown = [name for name in arrays if name not in needed + optional and not name.startswith(("infos", "metadata"))]
    if unknown:
        raise ValueError(f"{unknown[0]}: unknown in the layout of {layout}; ictd.Log.arrays takes any names")
    return arrays


def _table(name: str, given: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or array.ndim == 1 and array.dtype.kind != "f":
        expected = "real numbers, (n, d)" + (" (for a discrete state, one-hot: np.eye(m)[states])" if array.ndim == 1 else "")
        raise ValueError(f"{name}: {array.dtype} of shape {array.shape}; expected {expected}")
    return array.astype(np.float64).reshape(len(array), -1)


def _column(name: str, given: ArrayLike, n: int) -> NDArray[np.float64]:
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or array.shape not in ((n,), (n, 1)):
        raise ValueError(f"{name}: {array.dtype} of shape {array.shape}; expected real numbers, ({n},)")
    return array.astype(np.float64).reshape(n)


def _marks(name: str, given: ArrayLike | None, n: int) -> NDArray[np.float64]:
    marks = np.zeros(n) if given is None else _column(name, given, n)
    if not np.isin(marks, (0, 1)).all():
        raise ValueError(f"{name}: expected true or false (1 or 0) for each reward")
    return marks
