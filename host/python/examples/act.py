"""Learns to act in three of Gymnasium's environments, and prints the mean score of each agent's greedy policy:

    pip install "./host/python[gymnasium]"
    python host/python/examples/act.py [SEEDS]

FrozenLake-v1, whose ice is slippery, has one feature for each state; CartPole-v1 and MountainCar-v0 have Fourier features
(Konidaris, Osentoski and Thomas, 2011). The score is the probability that the policy reaches the goal of the lake, which is
exact, or its mean return over 20 episodes. All agents explore alike, and have the same settings everywhere.
"""

import itertools
import sys

import gymnasium as gym
import ictd
import numpy as np
from ictd.gymnasium import Act

GAMMA = 0.99
CRITICS = {
    "SARSA, universal model": lambda: (ictd.Model.universal(gamma=GAMMA), 0.9998, 20),
    "SARSA, LSTD(0), ridge 0.1": lambda: (ictd.Model.lstd(lambda_=0.0, ridge=0.1, gamma=GAMMA), 0.9998, 20),
    "SARSA, online TD(0), step size 0.1": lambda: (ictd.Model.online_td(lambda_=0.0, alpha=0.1, gamma=GAMMA), None, 1),
}
STEP_SIZES = (0.03, 0.1, 0.3)


def fourier(frequencies, low, high):
    """Features cos(pi c u) of frequencies c and coordinates u in [0, 1], whose squares sum to about 1."""
    frequencies, low, high = np.array(frequencies), np.array(low), np.array(high)
    scale = np.sqrt(2 / (len(frequencies) + 1))
    return lambda state: scale * np.cos(np.pi * frequencies @ np.clip((state - low) / (high - low), 0, 1))


STATE = np.array([2.4, 3.0, 0.21, 3.5])
# Steps that are taken at least, settings, and features.
ENVIRONMENTS = {
    "FrozenLake-v1": (30_000, {}, lambda state: np.eye(16)[state]),
    "CartPole-v1": (5_000, {}, fourier(list(itertools.product((0, 1), repeat=4)), -STATE, STATE)),
    "MountainCar-v0": (
        5_000,
        {"max_episode_steps": 1000},
        fourier([(i, total - i) for total in range(4) for i in range(total + 1)], [-1.2, -0.07], [0.6, 0.07]),
    ),
}


class QLearning:
    """Q-learning with linear features and the exploration of `Act`; tabular where each state has a feature."""

    def __init__(self, env, features, alpha, seed):
        self.env, self.features, self.alpha, self.seed = env, features, alpha, seed
        self.rng, self.seen, self.w = np.random.default_rng(seed), 0, None

    def best(self, x):
        values = self.w @ x
        return int(self.rng.choice(np.flatnonzero(values == values.max())))

    def greedy(self, observation):
        return self.best(self.features(observation))

    def learn(self, episodes):
        for _ in range(episodes):
            observation, _ = self.env.reset(seed=self.seed if self.w is None else None)
            x, ended = self.features(observation), False
            if self.w is None:
                self.w = np.zeros((self.env.action_space.n, len(x)))
            while not ended:
                random = 10 * self.w.size
                explores = self.rng.random() < max(0.05, random / (random + self.seen))
                action = int(self.rng.integers(len(self.w))) if explores else self.best(x)
                observation, reward, terminated, truncated, _ = self.env.step(action)
                after = self.features(observation)
                target = reward + (0.0 if terminated else GAMMA * (self.w @ after).max())
                self.w[action] += self.alpha * (target - self.w[action] @ x) * x
                x, ended, self.seen = after, terminated or truncated, self.seen + 1


def success(env, policy):
    """The probability that a policy, an action for each state, reaches the goal of the lake within its 100 steps."""
    reached = np.zeros(16)
    for _ in range(100):
        outcomes = [env.unwrapped.P[state][policy[state]] for state in range(16)]
        reached = np.array([sum(p * (r + (not end) * reached[to]) for p, to, r, end in of) for of in outcomes])
    return reached[0]


def mean_return(env, agent):
    """The mean return of an agent's greedy policy over 20 episodes, which begin alike for every agent."""
    total = 0.0
    for seed in range(20):
        (observation, _), ended = env.reset(seed=seed), False
        while not ended:
            observation, reward, terminated, truncated, _ = env.step(agent.greedy(observation))
            total, ended = total + float(reward), terminated or truncated
    return total / 20


def scores(name, seeds, steps):
    """The scores in an environment of each agent after at least so many steps, in whole episodes; (seeds,)."""
    _, settings, features = ENVIRONMENTS[name]
    makers = {f"Q-learning, step size {a}": lambda env, seed, a=a: QLearning(env, features, a, seed) for a in STEP_SIZES}
    for critic, settings_of in CRITICS.items():

        def make(env, seed, settings_of=settings_of):
            model, retention, interval = settings_of()
            return Act(env, model=model, retention=retention, features=features, interval=interval, seed=seed)

        makers[critic] = make
    found = {}
    for agent_name, make in makers.items():
        found[agent_name] = []
        for seed in range(seeds):
            env = gym.wrappers.RecordEpisodeStatistics(gym.make(name, **settings))
            agent, seen = make(env, seed), 0
            while seen < steps:
                agent.learn(1)
                seen += env.length_queue[-1]
            lake = name == "FrozenLake-v1"
            score = success(env, [agent.greedy(state) for state in range(16)]) if lake else mean_return(env, agent)
            found[agent_name].append(score)
    return found


if __name__ == "__main__":
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for name, (steps, *_) in ENVIRONMENTS.items():
        for agent, of in scores(name, seeds, steps).items():
            digits = 2 if name == "FrozenLake-v1" else 0
            low, median, high, mean = (f"{x:.{digits}f}" for x in (*np.quantile(of, [0.25, 0.5, 0.75]), np.mean(of)))
            print(f"| {name} | {agent} | {mean} | {median} [{low}, {high}] |", flush=True)
