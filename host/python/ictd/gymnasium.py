"""Values and actions in context for Gymnasium's environments (`pip install ictd[gymnasium]`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from ._ictd import Context, Model

__all__ = ["Act", "PredictValue", "PredictValues"]

Features = Callable[[Any], NDArray[np.floating[Any]]]


class PredictValue(gym.Wrapper):
    """Predicts, at each step, the return (the discounted sum of the next rewards) of the policy that acts.

    `info["value"]` of `reset` and `step` is the value of the state just reached, predicted from all transitions seen
    so far, in this and earlier episodes; 0.0 before the first one, and in a terminal state. A step after the end of an
    episode begins another one and is not a transition, as in environments that reset themselves.

    env: observations must be a vector. model: the universal one by default, with `gamma`. retention: as in `Context`;
    below 1 for policies that change. features: from an observation to a vector of at most 64 features; by default 1 and
    the observation's distance from the first one, so that its zero (of kelvin or degrees Celsius) does not matter. Features
    of your own should be distances from a usual level, too.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        gamma: float = 0.9,
        model: Model | None = None,
        retention: float | None = None,
        features: Features | None = None,
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
        """The context of all transitions so far; None before the first `reset`."""
        return self._context

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        self._phi = np.asarray(self._features(observation), dtype=np.float64)
        if self._context is None:
            self._context = Context(len(self._phi), self._model, self._retention)
        # A reset in the middle of an episode truncates it.
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
    """`PredictValue` for a vector environment: `info["value"]` is an array, (num_envs,), of values, each predicted
    from its environment's own transitions.

    Every `metadata["autoreset_mode"]` is supported: if the step after an end resets, it is not a transition; if the same
    step does, the last state of an episode is `info["final_obs"]`. env: observations must be
    vectors; the other arguments are those of `PredictValue`.
    """

    def __init__(
        self,
        env: gym.vector.VectorEnv[Any, Any, Any],
        gamma: float = 0.9,
        model: Model | None = None,
        retention: float | None = None,
        features: Features | None = None,
    ) -> None:
        super().__init__(env)
        self._features = [_features_of(env.single_observation_space, features) for _ in range(env.num_envs)]
        self._model = model if model is not None else Model.universal(gamma=gamma)
        self._retention = retention
        self._contexts: list[Context] = []
        self._phi = np.zeros((0, 0))
        self._has_ended = np.zeros(env.num_envs, dtype=bool)
        mode = env.metadata.get("autoreset_mode", gym.vector.AutoresetMode.NEXT_STEP)
        self._resets_at_once = mode == gym.vector.AutoresetMode.SAME_STEP

    @property
    def contexts(self) -> list[Context]:
        """The context of each environment; empty before the first `reset`."""
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
                following = np.asarray(self._features[i](info["final_obs"][i]), dtype=np.float64)
            context.observe(self._phi[i], float(rewards[i]), None if terminated[i] else following)
            if ended[i] and self._resets_at_once:
                context.end_episode()
        self._phi, self._has_ended = phi, np.zeros_like(ended) if self._resets_at_once else ended
        has_no_value = np.zeros_like(ended) if self._resets_at_once else np.asarray(terminated, dtype=bool)
        return observations, rewards, terminated, truncated, {**info, "value": self._values(has_no_value)}

    def _features_of_all(self, observations: Any) -> NDArray[np.float64]:
        states = gym.vector.utils.iterate(self.env.observation_space, observations)
        pairs = zip(self._features, states)
        return np.stack([np.asarray(features(state), dtype=np.float64) for features, state in pairs])

    def _values(self, has_none: NDArray[np.bool_]) -> NDArray[np.float64]:
        read = zip(self._contexts, self._phi, has_none)
        return np.array([0.0 if none or len(context) == 0 else context.values(phi) for context, phi, none in read])


class Act:
    """Learns to act: SARSA, whose critic is a model's context (Sutton & Barto, 10.1, with any estimator in place of TD).

    The features of a state and an action are the state's in the action's block, so `values` is Q(s, a) = level + <w, phi(s, a)>
    of the context's value function. Actions are epsilon-greedy: the share of random ones is 10 d / (10 d + n), with d features of
    states and actions and n transitions so far, and at least `epsilon`.

    env: a finite number of actions; observations are numbers of states (each is one feature), or vectors. model: the
    universal one by default, with `gamma`; any other whose values are linear in the features. retention: as in `Context`;
    below 1 the past is forgotten, as the policy changes. features: as in `PredictValue`; their number times actions
    must not exceed the features that `Context` accepts. interval: steps between reads of the context, which is also read at
    the end of each episode.

        >>> import gymnasium, ictd.gymnasium
        >>> agent = ictd.gymnasium.Act(gymnasium.make("FrozenLake-v1"))
        >>> returns = agent.learn(episodes=100)
        >>> action = agent.greedy(0)
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        gamma: float = 0.99,
        model: Model | None = None,
        retention: float | None = None,
        features: Features | None = None,
        epsilon: float = 0.05,
        interval: int = 20,
        seed: int = 0,
    ) -> None:
        actions = env.action_space
        if not isinstance(actions, gym.spaces.Discrete):
            raise ValueError(f"env: actions of {actions}; expected a finite number")
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon: {epsilon}; expected a number in [0, 1]")
        if interval < 1:
            raise ValueError(f"interval: {interval}; expected at least 1")
        states = env.observation_space
        if features is None and isinstance(states, gym.spaces.Discrete):
            first, each = int(states.start), np.eye(int(states.n))
            features = lambda state: each[int(state) - first]  # noqa: E731
        self._features = _features_of(states, features)
        self._env, self._first, self._epsilon, self._interval = env, int(actions.start), epsilon, interval
        self._actions, self._seed, self._rng = int(actions.n), seed, np.random.default_rng(seed)
        self._model = model if model is not None else Model.universal(gamma=gamma)
        self._retention = retention
        self._context: Context | None = None
        self._weights: NDArray[np.float64] | None = None
        self._level = 0.0

    @property
    def context(self) -> Context | None:
        """The context of all transitions so far, with a block of state features per action; None before the first episode."""
        return self._context

    def learn(self, episodes: int) -> NDArray[np.float64]:
        """Acts in episodes and learns from each transition; returns the undiscounted return of each, (episodes,)."""
        return np.array([self._episode() for _ in range(episodes)])

    def values(self, observation: Any) -> NDArray[np.float64]:
        """Q(s, a), (actions,)."""
        return self._values(self._state(observation))

    def greedy(self, observation: Any) -> int:
        """The greedy action; ties are broken at random."""
        return self._first + self._best(self._state(observation))

    def _episode(self) -> float:
        observation, _ = self._env.reset(seed=self._seed if self._context is None else None)
        x = self._state(observation)
        if self._context is None:
            self._weights = np.zeros(len(x) * self._actions)
            self._context = Context(len(self._weights), self._model, self._retention)
        total, action, ended = 0.0, self._choose(x), False
        while not ended:
            observation, reward, terminated, truncated, _ = self._env.step(self._first + action)
            total, ended, following = total + float(reward), terminated or truncated, self._state(observation)
            chosen = self._choose(following)
            after = None if terminated else self._block(following, chosen)
            self._context.observe(self._block(x, action), float(reward), after)
            x, action = following, chosen
            if ended:
                self._context.end_episode()
            if ended or len(self._context) % self._interval == 0:
                self._read(self._context)
        return total

    def _read(self, context: Context) -> None:
        try:
            read = context.value_function()
            self._weights, self._level = read.weights, read.level
        except ValueError:
            # The system has no solution yet: the values do not change.
            pass

    def _state(self, observation: Any) -> NDArray[np.float64]:
        return np.asarray(self._features(observation), dtype=np.float64)

    def _block(self, x: NDArray[np.float64], action: int) -> NDArray[np.float64]:
        phi = np.zeros((self._actions, len(x)))
        phi[action] = x
        return phi.ravel()

    def _values(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._weights is None:
            return np.zeros(self._actions)
        return self._level + self._weights.reshape(self._actions, -1) @ x

    def _best(self, x: NDArray[np.float64]) -> int:
        values = self._values(x)
        return int(self._rng.choice(np.flatnonzero(values == values.max())))

    def _choose(self, x: NDArray[np.float64]) -> int:
        random, seen = 10 * len(x) * self._actions, 0 if self._context is None else len(self._context)
        if self._rng.random() < max(self._epsilon, random / (random + seen)):
            return int(self._rng.integers(self._actions))
        return self._best(x)


def _features_of(space: gym.Space[Any], features: Features | None) -> Features:
    if features is not None:
        return features
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
        raise ValueError(f"env: observations of {space}; expected vectors, or features= makes one of each")
    return _Distances()


class _Distances:
    """1, and an observation's distance from the first one."""

    def __init__(self) -> None:
        self._first: NDArray[np.float64] | None = None

    def __call__(self, observation: Any) -> NDArray[np.float64]:
        now = np.array(observation, dtype=np.float64)
        if self._first is None:
            self._first = now
        return np.concatenate(([1.0], now - self._first))
