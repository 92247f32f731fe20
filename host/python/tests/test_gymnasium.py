"""Values in context for any environment with vector observations."""

import itertools

import gymnasium as gym
import ictd
import numpy as np
import pytest
from ictd.gymnasium import Act, PredictValue, PredictValues


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
    phi = lambda state: np.concatenate(([1.0], state - np.eye(5)[0]))  # noqa: E731
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


class Wandering(gym.Env):
    """x decays by 0.8 with noise, and pays itself; the observation is a level and x."""

    observation_space, action_space = gym.spaces.Box(-np.inf, np.inf, (1,)), gym.spaces.Discrete(1)

    def __init__(self, level):
        self.level = level

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 1.0
        return np.array([self.level + self.x]), {}

    def step(self, action):
        reward, self.x = self.x, 0.8 * self.x + self.np_random.uniform(-0.5, 0.5)
        return np.array([self.level + self.x]), reward, False, False, {}


@pytest.mark.parametrize("level", (0.0, 20.0, 293.15))
def test_a_temperature_is_predicted_in_celsius_and_in_kelvin(level):
    env = PredictValue(Wandering(level), gamma=0.9)
    env.reset(seed=1)
    steps = [(env.step(0)[-1]["value"], env.unwrapped.x / (1 - 0.9 * 0.8)) for _ in range(3000)]
    found, true = np.array(steps[1500:]).T
    assert np.sqrt(np.mean((found - true) ** 2) / np.mean(true**2)) < 0.1


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
        found = context.value_function()
        return (found.level + found.weights).tolist(), len(context)

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


class Lever(gym.Env):
    """Two states and two actions, which are numbered from 5: the lever of the state's own number pays 1, and changes the state."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = 0, 0
        return self.at, {}

    def step(self, action):
        reward, self.steps = float(action - 5 == self.at), self.steps + 1
        self.at = (self.at + int(reward)) % 2
        return self.at, reward, False, self.steps == 20, {}


MODELS = [
    ictd.Model.universal(gamma=0.9),
    ictd.Model.lstd(lambda_=0.0, ridge=0.1),
    ictd.Model.online_td(lambda_=0.0, alpha=0.3),
    ictd.Model.recursive_lstd(lambda_=0.0, ridge=0.1),
    ictd.Model.td0(4, alpha=0.5, layers=60),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_any_model_of_the_package_learns_to_act(model):
    agent = Act(Lever(), model=model, seed=1)
    returns = agent.learn(episodes=30)
    assert returns.shape == (30,) and returns[-5:].mean() > 17
    assert [agent.greedy(0), agent.greedy(1)] == [5, 6]
    # A reward of 1 at each step: near 1 / (1 - 0.9), with few random actions.
    assert agent.values(0).shape == (2,) and 3 < agent.values(0).max() < 10
    assert len(agent.context) == 600


def test_learning_is_sarsa_and_a_seed_repeats():
    class Watched(Lever):
        def step(self, action):
            before = self.at
            after = super().step(action)
            seen.append((before, action - 5, after[1], after[0]))
            return after

    model, seen = ictd.Model.lstd(lambda_=0.0, ridge=0.1), []
    agent = Act(Watched(), model=model, seed=3)
    agent.learn(episodes=1)
    by_hand, phi = ictd.Context(4, model), lambda state, action: np.eye(4)[2 * action + state]
    for (state, action, reward, following), (_, chosen, _, _) in zip(seen, seen[1:]):
        by_hand.observe(phi(state, action), reward, phi(following, chosen))
    # The action chosen after the last transition was not taken: it is one of two.
    state, action, reward, following = seen[-1]
    found = agent.context.value_function().weights.tolist()
    ends = [by_hand.copy(), by_hand.copy()]
    for chosen, end in enumerate(ends):
        end.observe(phi(state, action), reward, phi(following, chosen))
    assert found in [end.value_function().weights.tolist() for end in ends]
    again = Act(Lever(), model=model, seed=3)
    again.learn(episodes=1)
    assert again.context.value_function().weights.tolist() == found


def test_what_cannot_act_is_named():
    with pytest.raises(ValueError, match="env: actions of Box"):
        Act(gym.make("Pendulum-v1"))
    with pytest.raises(ValueError, match="epsilon: 2"):
        Act(Lever(), epsilon=2)
    with pytest.raises(ValueError, match="interval: 0"):
        Act(Lever(), interval=0)
    large = Act(Lever(), features=lambda state: np.eye(100)[state])
    with pytest.raises(ValueError, match="d: 200; expected 1 to 64"):
        large.learn(1)


def test_it_balances_a_pole_within_30_episodes():
    frequencies = np.array(list(itertools.product((0, 1), repeat=4)))

    def fourier(state):
        return np.cos(np.pi / 2 * frequencies @ (np.clip(state / [2.4, 3.0, 0.21, 3.5], -1, 1) + 1))

    agent = Act(gym.make("CartPole-v1"), gamma=0.95, features=fourier, seed=1)
    assert agent.learn(episodes=30)[-5:].mean() > 400
