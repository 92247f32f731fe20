"""Values in context for Gymnasium's environments (`pip install ictd[gymnasium]`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from ._ictd import Context, Model

__all__ = ["PredictValue"]


class PredictValue(gym.Wrapper):
    """Predicts, at each step, the discounted sum of the rewards that follow, whatever policy acts.

    `info["value"]` of `reset` and `step` is the value of the state just reached, predicted from all transitions seen
    so far, in this episode and those before; 0.0 before the first one, and of a state that ends an episode. A step after the
    end of an episode begins another one and is no transition, as in environments that reset themselves.

    env: observations must be a vector. model: the universal one by default, with `gamma`. retention: by default all
    transitions count; below 1 the past shrinks by that with each, for policies that change. features: from an
    observation to a vector of at most 32 features; by default 1 and the observation.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        gamma: float = 0.9,
        model: Model | None = None,
        retention: float | None = None,
        features: Callable[[Any], NDArray[np.floating[Any]]] | None = None,
    ) -> None:
        super().__init__(env)
        space = env.observation_space
        if features is None:
            if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
                raise ValueError(f"env: observations of {space}; expected vectors, or features= makes one of each")
            features = _with_bias
        self._features = features
        self._model = model if model is not None else Model.universal(gamma=gamma)
        self._retention = retention
        self._context: Context | None = None
        self._phi: NDArray[np.float64] | None = None
        self._has_ended = False

    @property
    def context(self) -> Context | None:
        """What was seen so far; None before the first `reset`."""
        return self._context

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        self._phi = np.asarray(self._features(observation), dtype=np.float64)
        if self._context is None:
            self._context = Context(len(self._phi), self._model, self._retention)
        # A reset in the middle of an episode cuts it.
        self._context.end_episode()
        self._has_ended = False
        return observation, {**info, "value": self._value()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self._context is None or self._phi is None:
            raise gym.error.ResetNeeded("call reset before step")
        observation, reward, terminated, truncated, info = self.env.step(action)
        phi = np.asarray(self._features(observation), dtype=np.float64)
        if self._has_ended:
            self._context.end_episode()
        else:
            self._context.observe(self._phi, float(reward), None if terminated else phi)
        self._phi, self._has_ended = phi, terminated or truncated
        return observation, reward, terminated, truncated, {**info, "value": 0.0 if terminated else self._value()}

    def _value(self) -> float:
        if self._context is None or self._phi is None or len(self._context) == 0:
            return 0.0
        return float(self._context.values(self._phi))


def _with_bias(observation: Any) -> NDArray[np.float64]:
    return np.concatenate(([1.0], np.asarray(observation, dtype=np.float64)))
