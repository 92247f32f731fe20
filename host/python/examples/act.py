"""Learns to act on FrozenLake-v1, whose ice is slippery, and prints how often each agent's greedy policy reaches the goal:

    pip install "./host/python[gymnasium]"
    python host/python/examples/act.py [SEEDS [EPISODES]]

All agents explore alike. The rates are exact: the probability to reach the goal within the environment's 100 steps.
"""

import sys

import gymnasium as gym
import ictd
import numpy as np
from ictd.gymnasium import Act

GAMMA = 0.99
AGENTS = {
    "SARSA, universal model": lambda: (ictd.Model.universal(gamma=GAMMA), 0.9998),
    "SARSA, LSTD(0), ridge 0.1": lambda: (ictd.Model.lstd(lambda_=0.0, ridge=0.1, gamma=GAMMA), 0.9998),
    "SARSA, online TD(0), alpha 0.1": lambda: (ictd.Model.online_td(lambda_=0.0, alpha=0.1, gamma=GAMMA), None),
}


def success(env, policy):
    """The probability that a policy, an action for each state, reaches the goal within 100 steps from the start."""
    reached = np.zeros(16)
    for _ in range(100):
        outcomes = [env.unwrapped.P[state][policy[state]] for state in range(16)]
        reached = np.array([sum(p * (r + (not end) * reached[to]) for p, to, r, end in of) for of in outcomes])
    return reached[0]


def q_learning(env, episodes, seed, alpha):
    """Tabular Q-learning with the exploration of `Act`."""
    q, rng, seen = np.zeros((16, 4)), np.random.default_rng(seed), 0
    state, _ = env.reset(seed=seed)
    for _ in range(episodes):
        ended = False
        while not ended:
            explores = rng.random() < max(0.05, 640 / (640 + seen))
            action = rng.integers(4) if explores else rng.choice(np.flatnonzero(q[state] == q[state].max()))
            after, reward, terminated, truncated, _ = env.step(int(action))
            target = reward + (0.0 if terminated else GAMMA * q[after].max())
            q[state, action] += alpha * (target - q[state, action])
            state, ended, seen = after, terminated or truncated, seen + 1
        state, _ = env.reset()
    return q


def rates(seeds, episodes):
    """The success rates of each agent, (seeds,)."""
    found = {}
    for name, settings in AGENTS.items():
        found[name] = []
        for seed in range(seeds):
            env = gym.make("FrozenLake-v1")
            model, retention = settings()
            agent = Act(env, model=model, retention=retention, seed=seed)
            agent.learn(episodes)
            found[name].append(success(env, [agent.greedy(state) for state in range(16)]))
    for alpha in (0.03, 0.1, 0.3):
        env = gym.make("FrozenLake-v1")
        learned = [q_learning(env, episodes, seed, alpha) for seed in range(seeds)]
        found[f"tabular Q-learning, alpha {alpha}"] = [success(env, q.argmax(axis=1)) for q in learned]
    return found


if __name__ == "__main__":
    seeds, episodes = (int(x) for x in (*sys.argv[1:], "10", "1000")[:2]) if len(sys.argv) < 3 else map(int, sys.argv[1:3])
    for name, of in rates(seeds, episodes).items():
        low, median, high = np.quantile(of, [0.25, 0.5, 0.75])
        print(f"| {name} | {np.mean(of):.2f} | {median:.2f} [{low:.2f}, {high:.2f}] |")
