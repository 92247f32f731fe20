"""Values in context for any environment with vector observations."""

import gymnasium as gym
import ictd
import numpy as np
import pytest
from ictd.gymnasium import PredictValue, PredictValues


class Ring(gym.Env):
    """Five states in a ring, each with an own feature; state 4 pays 1."""

    observation_space = gym.spaces.Box(0.0, 1.0, (5,))
    action_space = gym.spaces.Discrete(1)

    def __init__(self, length=None):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = 0, 0
        return np.eye(5)[0], {"own": 1}

    def step(self, action):
        reward = float(self.at == 4)
        self.at, self.steps = (self.at + 1) % 5, self.steps + 1
        return np.eye(5)[self.at], reward, self.steps == self.length, False, {}


def test_values_approach_the_true_ones():
    env = PredictValue(Ring(), gamma=0.9, model=ictd.Model.lstd(lambda_=0.0, ridge=1e-6), features=lambda s: s)
    _, info = env.reset()
    assert info == {"own": 1, "value": 0.0}
    for _ in range(200):
        info = env.step(0)[-1]
    true = np.linalg.solve(np.eye(5) - 0.9 * np.roll(np.eye(5), 1, axis=1), np.eye(5)[4])
    assert abs(info["value"] - true[env.unwrapped.at]) < 1e-3


def test_it_is_the_context_fed_by_hand():
    env, by_hand = PredictValue(Ring(length=7)), ictd.Context(6)
    phi = lambda state: np.concatenate(([1.0], state))  # noqa: E731
    before, _ = env.reset()
    for _ in range(30):
        after, reward, terminated, _, info = env.step(0)
        by_hand.observe(phi(before), reward, None if terminated else phi(after))
        assert info["value"] == (0.0 if terminated else by_hand.values(phi(after)))
        before = after
        if terminated:
            before, info = env.reset()
            by_hand.end_episode()
            assert info["value"] == by_hand.values(phi(before))
    assert len(env.context) == 30


def test_environments_that_reset_themselves_give_the_same_transitions():
    class Chain(gym.Env):
        """0 -> 1 -> 2 -> end, with a reward of 1 on the last step."""

        observation_space, action_space = gym.spaces.Box(0, 1, (3,)), gym.spaces.Discrete(1)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at = 0
            return np.eye(3)[0], {}

        def step(self, action):
            if self.at == 2:
                return np.eye(3)[2], 1.0, True, False, {}
            self.at += 1
            return np.eye(3)[self.at], 0.0, False, False, {}

    def weights(env, steps, resets):
        env.reset()
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(0)
            if resets and (terminated or truncated):
                env.reset()
        context = env.get_wrapper_attr("context")
        return context.weights().tolist(), len(context)

    value = lambda env: PredictValue(env, features=lambda s: s)  # noqa: E731
    expected = weights(value(Chain()), 300, True)
    np.testing.assert_allclose(expected[0], [0.81, 0.9, 1.0], atol=0.02)
    autoreset = gym.wrappers.Autoreset
    assert weights(value(autoreset(Chain())), 400, False) == expected
    assert weights(autoreset(value(Chain())), 400, False) == expected


def test_a_real_environment_passes_gymnasiums_own_checks():
    from gymnasium.wrappers import PassiveEnvChecker

    env = PassiveEnvChecker(PredictValue(gym.make("CartPole-v1"), retention=0.99))
    env.reset(seed=1)
    env.action_space.seed(1)
    values = []
    for _ in range(300):
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        values.append(info["value"])
        if terminated or truncated:
            env.reset()
    # A reward of 1 at each step, and episodes of about 20: between 1 and 1 / (1 - gamma).
    assert 4.0 < np.mean(values[100:]) < 10.0


def test_observations_that_are_no_vectors_are_named():
    with pytest.raises(ValueError, match=r"env: observations of Discrete\(16\)"):
        PredictValue(gym.make("FrozenLake-v1"))
    env = PredictValue(gym.make("FrozenLake-v1"), features=lambda s: np.eye(16)[s])
    assert env.reset()[1]["value"] == 0.0


MODES = list(gym.vector.AutoresetMode)


@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
def test_each_of_many_environments_is_predicted_as_if_it_were_alone(mode):
    lengths = (3, 5, None)
    make = [lambda length=length: Ring(length) for length in lengths]
    many = PredictValues(gym.vector.SyncVectorEnv(make, autoreset_mode=mode))
    many.reset()
    alone = [PredictValue(Ring(length)) for length in lengths]
    for env in alone:
        env.reset()
    ends = np.zeros(3, dtype=bool)
    for _ in range(40):
        if mode == gym.vector.AutoresetMode.DISABLED and ends.any():
            many.reset(options={"reset_mask": ends})
        *_, terminated, _, info = many.step(np.zeros(3, dtype=int))
        for i, env in enumerate(alone):
            if ends[i]:
                expected = env.reset()[1]["value"]
                if mode == gym.vector.AutoresetMode.NEXT_STEP:
                    assert info["value"][i] == expected
                    continue
            *_, ended, _, one = env.step(0)
            assert ended == terminated[i]
            if not (ended and mode == gym.vector.AutoresetMode.SAME_STEP):
                assert info["value"][i] == one["value"]
        ends = terminated
    assert [len(context) for context in many.contexts] == [len(env.context) for env in alone]
    with pytest.raises(ValueError, match="env: a vector environment"):
        PredictValue(many)
