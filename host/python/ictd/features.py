"""Features of raw observations, stored with a model; and values judged by the returns in a log."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _ictd
from ._ictd import Model
from .logs import Log

__all__ = ["Encoded", "Encoder", "Evaluation", "evaluate"]


@dataclass(frozen=True)
class Encoder:
    """A map from observations, (n, k), to features with a constant, (n, d): the command line's `--features`.

    Made by `standard`, `tiles` or `fourier`; `save` and `load` store it as JSON. It can be pickled, copied and compared.
    """

    json: str

    @classmethod
    def standard(cls, observations: ArrayLike | Log | None = None, *, level: ArrayLike | None = None, scale: ArrayLike | None = None) -> Encoder:
        """(x - level) / scale, and 1: from the first 1000 rows of observations or a log, or given, (k,)."""
        return cls._of("standard", observations, {"level": level, "scale": scale}, {})

    @classmethod
    def tiles(
        cls,
        observations: ArrayLike | Log | None = None,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        tiles: int = 4,
        tilings: int = 4,
    ) -> Encoder:
        """Tile coding: 1 / sqrt(tilings) in one tile of each shifted tiling, and 1. More than 63 tiles are hashed to 63.

        low, high: (k,), or the least and largest of the first 1000 rows; what lies outside is clipped.
        """
        return cls._of("tiles", observations, {"low": low, "high": high}, {"tiles": tiles, "tilings": tilings})

    @classmethod
    def fourier(
        cls,
        observations: ArrayLike | Log | None = None,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        order: int | None = None,
    ) -> Encoder:
        """The Fourier basis cos(pi <c, u>), c in {0, ..., order}^k, u from 0 at low to 1 at high: at most 64 features.

        order: by default the highest one that fits, up to 3. low, high: as for `tiles`.
        """
        more = {} if order is None else {"order": order}
        return cls._of("fourier", observations, {"low": low, "high": high}, more)

    @classmethod
    def _of(cls, kind: str, observations: Any, given: dict[str, Any], more: dict[str, Any]) -> Encoder:
        if isinstance(observations, Log):
            observations = observations["phi"]
        if observations is None:
            if missing := [name for name, value in given.items() if value is None]:
                raise ValueError(f"{missing[0]}: missing; expected observations, or {' and '.join(given)}")
            k = np.size(next(iter(given.values())))
            observations = np.zeros((1, k))
        fitted = json.loads(_ictd.fit_features(kind, observations))
        stated = {name: np.asarray(value, float).reshape(-1).tolist() for name, value in given.items() if value is not None}
        stored = json.dumps({**fitted, **stated, **more})
        _ictd.encode(stored, np.atleast_2d(observations)[:1])
        return cls(stored)

    def __call__(self, observations: ArrayLike) -> NDArray[np.float64]:
        """The features, (n, d), of observations, (n, k)."""
        return _ictd.encode(self.json, observations)

    def log(self, log: Log) -> Log:
        """The log with features in place of its observations; those of terminal states are 0."""
        arrays = dict(log)
        arrays["phi"], arrays["phi_next"] = self(log["phi"]), self(log["phi_next"])
        arrays["phi_next"][log["terminal"] == 1] = 0.0
        return Log(**arrays, actions=log.actions)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the JSON that `load` and the command line's `--features FILE.json` read."""
        Path(path).write_text(self.json)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Encoder:
        """Reads what `save`, or the command line, wrote."""
        text = Path(path).read_text()
        kind = json.loads(text)
        _ictd.encode(text, np.zeros((1, len(kind.get("level", kind.get("low", [0]))))))
        return cls(text)

    def __repr__(self) -> str:
        of = json.loads(self.json)
        more = "".join(f", {name}={of[name]}" for name in ("tiles", "tilings", "order") if name in of)
        k = len(of.get("level", of.get("low")))
        return f"<ictd.Encoder {of['kind']} of {k} numbers{more}>"


@dataclass(frozen=True)
class Encoded:
    """A model with the encoder of its observations, which are pickled together.

    >>> encoder = ictd.Encoder.standard(log)
    >>> ictd.Encoded(encoder, ictd.Model.universal()).values(log, states)
    """

    encoder: Encoder
    model: Model

    def values(self, log: Log, query: ArrayLike | None = None, gamma: float | None = None) -> NDArray[np.float64]:
        """The values of the observations `query`, or of all states of the log, in its context."""
        asked = self.encoder(log["phi"] if query is None else query)
        arrays: dict[str, Any] = dict(self.encoder.log(log))
        return self.model.values(**arrays, query=asked, gamma=gamma)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Value functions judged by the discounted returns in a log: root mean squared errors, smaller is better."""

    #: For each name the error and its 90 % interval over episodes, or parts of long ones; "predicting 0" is among them.
    error: dict[str, tuple[float, float, float]]
    #: The root mean squared TD error on the whole log, which does not say how good values are.
    td_error: dict[str, float]
    #: The name with the least return error, which may be "predicting 0"; and the next one's mean squared error minus its own,
    #: with a 90 % interval.
    best: str
    ahead: tuple[float, float, float] | None
    #: The number of returns that are known, and of episodes with any.
    known: tuple[int, int]

    def __repr__(self) -> str:
        mean, low, high = self.error[self.best]
        return f"<ictd.Evaluation best {self.best!r}: return error {mean:.4g} [{low:.4g}, {high:.4g}] of {self.known[0]} returns>"


ValueFunction = Callable[[Log, NDArray[np.float64]], ArrayLike]


def evaluate(
    models: Mapping[str, Model | Encoded | ValueFunction], log: Log, gamma: float = 0.9
) -> Evaluation:
    """Judges models by the returns in a log: each half by what a model that has read the other half predicts there.

    models: by name; a model, or a function of a log and of states, (m, d), that returns their values. Returns are known to the
    end of a terminated episode, and elsewhere as long as what is missing has a weight of at most 0.2. `ValueError` if too
    few are known.
    """
    if not log.has_constant and not any(isinstance(model, Encoded) for model in models.values()):
        warnings.warn("the log has no constant feature, so values have no level: ictd.Encoder.standard adds one", stacklevel=2)
    found = _ictd.Returns(log["phi"], log["reward"], log["phi_next"], log["terminal"], log["end"], log.get("rho"), gamma)
    parts = (slice(None, found.middle()), slice(found.middle(), None))
    halves = [Log(**{name: array[part] for name, array in log.items()}) for part in parts]

    def values(model: Any, read: Log, query: NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(model, Encoded):
            return model.values(read, query, gamma)
        if isinstance(model, Model):
            arrays: dict[str, Any] = dict(read)
            return model.values(**arrays, query=query, gamma=gamma)
        return np.asarray(model(read, query), dtype=np.float64).reshape(len(query))

    states = [found.states(0), found.states(1)]
    each = {name: [values(model, halves[1 - k], states[k]) for k in (0, 1)] for name, model in models.items()}
    each["predicting 0"] = [np.zeros(len(of)) for of in states]
    error = {}
    for name, of in each.items():
        if (judged := found.error(of)) is None:
            raise ValueError("log: too few returns are known; expected several episodes, or longer ones for this gamma")
        error[name] = judged
    ranked = sorted(each, key=lambda name: error[name])
    ahead = found.advantage(each[ranked[0]], each[ranked[1]]) if len(ranked) > 1 else None

    def td_error(model: Any) -> float:
        now, following = values(model, log, log["phi"]), values(model, log, log["phi_next"])
        following = np.where(log["terminal"] == 1, 0.0, following)
        delta = log["reward"] + gamma * following - now
        return float(np.sqrt(np.mean(log.get("rho", np.ones(1)) * delta**2)))

    (known, episodes), td_errors = found.known(), {name: td_error(of) for name, of in models.items()}
    return Evaluation(error, td_errors, ranked[0], ahead, (known, episodes))
