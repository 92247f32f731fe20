"""Values in context for Gymnasium's environments (`pip install ictd[gymnasium]`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from ._ictd import Context, Model

__all__ = ["PredictValue", "PredictValues"]


class PredictValue(gym.Wrapper):
    """Predicts, at each step, the discounted sum of the rewards that follow, whatever policy acts.

    `info["value"]` of `reset` and `step` is the value of the state just reached, predicted from all transitions seen
    so far, in this episode and those before; 0.0 before the first one, and of a state that ends an episode. A step after the
    end of an episode begins another one and is no transition, as in environments that reset themselves.

    env: observations must be a vector. model: the universal one by default, with `gamma`. retention: by default all
    transitions count; below 1 the past shrinks by that with each, for policies that change. features: from an
    observation to a vector of at most 64 features; by default 1 and the observation.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        gamma: float = 0.9,
        model: Model | None = None,
        retention: float | None = None,
        features: Callable[[Any], NDArray[np.floating[Any]]] | None = None,
    ) -> None:
        if isinstance(env, gym.vector.VectorEnv):
            raise ValueError("env: a vector environment; expected a single one, or PredictValues for many")
        super().__init__(env)
        self._features = _features_of(env.observation_space, features)
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


class PredictValues(gym.vector.VectorWrapper):
    """`PredictValue` for a vector environment: `info["value"]` is an array, (num_envs,), of values that are each predicted
    from that environment's own transitions.

    Every mode of resetting is known (`metadata["autoreset_mode"]`): the step after an end is no transition where that step
    resets, and the last state of an episode is `info["final_obs"]` where the same step does. env: observations must be
    vectors; the other arguments are those of `PredictValue`.
    """

    def __init__(
        self,
        env: gym.vector.VectorEnv[Any, Any, Any],
        gamma: float = 0.9,
        model: Model | None = None,
        retention: float | None = None,
        features: Callable[[Any], NDArray[np.floating[Any]]] | None = None,
    ) -> None:
        super().__init__(env)
        self._features = _features_of(env.single_observation_space, features)
        self._model = model if model is not None else Model.universal(gamma=gamma)
        self._retention = retention
        self._contexts: list[Context] = []
        self._phi = np.zeros((0, 0))
        self._has_ended = np.zeros(env.num_envs, dtype=bool)
        mode = env.metadata.get("autoreset_mode", gym.vector.AutoresetMode.NEXT_STEP)
        self._resets_at_once = mode == gym.vector.AutoresetMode.SAME_STEP

    @property
    def contexts(self) -> list[Context]:
        """What each environment has shown so far; empty before the first `reset`."""
        return self._contexts

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask")
        observations, info = self.env.reset(seed=seed, options=options)
        self._phi = self._features_of_all(observations)
        if not self._contexts:
            self._contexts = [Context(self._phi.shape[1], self._model, self._retention) for _ in self._phi]
        for i, context in enumerate(self._contexts):
            if mask is None or mask[i]:
                context.end_episode()
                self._has_ended[i] = False
        return observations, {**info, "value": self._values(np.zeros(len(self._phi), dtype=bool))}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        if not self._contexts:
            raise gym.error.ResetNeeded("call reset before step")
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        phi, ended = self._features_of_all(observations), np.asarray(terminated) | np.asarray(truncated)
        for i, context in enumerate(self._contexts):
            if self._has_ended[i]:
                context.end_episode()
                continue
            following = phi[i]
            if ended[i] and self._resets_at_once:
                following = np.asarray(self._features(info["final_obs"][i]), dtype=np.float64)
            context.observe(self._phi[i], float(rewards[i]), None if terminated[i] else following)
            if ended[i] and self._resets_at_once:
                context.end_episode()
        self._phi, self._has_ended = phi, np.zeros_like(ended) if self._resets_at_once else ended
        has_no_value = np.zeros_like(ended) if self._resets_at_once else np.asarray(terminated, dtype=bool)
        return observations, rewards, terminated, truncated, {**info, "value": self._values(has_no_value)}

    def _features_of_all(self, observations: Any) -> NDArray[np.float64]:
        states = gym.vector.utils.iterate(self.env.observation_space, observations)
        return np.stack([np.asarray(self._features(state), dtype=np.float64) for state in states])

    def _values(self, has_none: NDArray[np.bool_]) -> NDArray[np.float64]:
        read = zip(self._contexts, self._phi, has_none)
        return np.array([0.0 if none or len(context) == 0 else context.values(phi) for context, phi, none in read])


def _features_of(
    space: gym.Space[Any], features: Callable[[Any], NDArray[np.floating[Any]]] | None
) -> Callable[[Any], NDArray[np.floating[Any]]]:
    if features is not None:
        return features
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
        raise ValueError(f"env: observations of {space}; expected vectors, or features= makes one of each")
    return _with_bias


def _with_bias(observation: Any) -> NDArray[np.float64]:
    return np.concatenate(([1.0], np.asarray(observation, dtype=np.float64)))
