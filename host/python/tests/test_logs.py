"""Logs of other programs, features of raw observations, and the judgement by returns."""

import copy
import json
import pickle
import subprocess
from types import SimpleNamespace

import ictd
import numpy as np
import pytest

GAMMA = 0.9


def lstd(phi, reward, phi_next, terminal=None):
    """The fixed point of TD(0), from the textbook."""
    following = phi_next * (1 - np.zeros(len(reward)) if terminal is None else 1 - terminal)[:, None]
    return np.linalg.solve(phi.T @ (phi - GAMMA * following), phi.T @ reward)


def weights(log):
    return ictd.Model.lstd(lambda_=0.0, ridge=0.0, gamma=GAMMA).value_function(**log).weights


def rows(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def sb3(n=60):
    obs, rewards = rows(n)
    starts = np.zeros(n, bool)
    starts[[0, 20, 37]] = True
    return {"obs": obs.astype("f4"), "actions": np.zeros(n, int), "rewards": rewards, "episode_returns": np.zeros(3), "episode_starts": starts}


def command_line(program, tmp_path, arrays, *options):
    np.savez(tmp_path / "log.npz", **arrays)
    line = ["evaluate", "--data", tmp_path / "log.npz", "--trace-decay", "0", *options, "--json", "--out", tmp_path / "out"]
    return json.loads(subprocess.run([program, *line], capture_output=True, check=True).stdout)


def test_stable_baselines(program, tmp_path):
    arrays = sb3()
    log = ictd.Log.sb3(arrays)
    obs = arrays["obs"].astype(float)
    kept = np.setdiff1d(np.arange(60), [19, 36, 59])
    expected = lstd(obs[kept], arrays["rewards"][kept], obs[kept + 1])
    np.testing.assert_allclose(weights(log), expected, rtol=1e-9)
    assert log["end"].sum() == 3 and log["terminal"].sum() == 0 and len(log.actions) == 57
    found = command_line(program, tmp_path, arrays, "--layout", "sb3")
    np.testing.assert_allclose(found["estimators"][2]["weights"], expected, rtol=1e-9)
    assert found["ignored"] == ["actions", "episode_returns"]
    assert found["estimators"][0]["weights"] == ictd.Model.td0(2, gamma=GAMMA).value_function(**log).weights.tolist()
    # With episodes that terminated.
    ended = ictd.Log.sb3(arrays, terminated=[True, False, True])
    assert len(ended["reward"]) == 59 and np.flatnonzero(ended["terminal"]).tolist() == [19, 58]
    kept = np.setdiff1d(np.arange(60), [36])
    terminal = np.isin(kept, [19, 59]).astype(float)
    expected = lstd(obs[kept], arrays["rewards"][kept], obs[(kept + 1) % 60], terminal)
    np.testing.assert_allclose(weights(ended), expected, rtol=1e-9)
    with pytest.raises(ValueError, match=r"terminated: shape \(2,\); expected \(3,\)"):
        ictd.Log.sb3(arrays, terminated=[True, False])


def test_imitation(program, tmp_path):
    obs, rews = rows(43)[0], rows(40)[1]
    arrays = {"obs": obs, "acts": np.zeros(40), "rews": rews, "terminal": np.array([True, False, True]), "indices": np.array([10, 25])}
    log = ictd.Log.imitation(arrays)
    of = np.concatenate([np.arange(10), np.arange(11, 26), np.arange(27, 42)])
    terminal = np.isin(np.arange(40), [9, 39]).astype(float)
    expected = lstd(obs[of], rews, obs[of + 1], terminal)
    np.testing.assert_allclose(weights(log), expected, rtol=1e-9)
    assert np.flatnonzero(log["end"]).tolist() == [24] and log.episodes == 3
    found = command_line(program, tmp_path, arrays, "--layout", "imitation")
    np.testing.assert_allclose(found["estimators"][2]["weights"], expected, rtol=1e-9)
    with pytest.raises(ValueError, match="obs: 42 rows; expected 43"):
        ictd.Log.imitation({**arrays, "obs": obs[:-1]})


def test_d4rl(program, tmp_path):
    obs, rewards = rows(51)[0], rows(50)[1]
    terminals, timeouts = np.isin(np.arange(50), [15]), np.isin(np.arange(50), [30])
    arrays = {"observations": obs[:-1], "next_observations": obs[1:], "rewards": rewards, "terminals": terminals, "timeouts": timeouts}
    log = ictd.Log.d4rl(arrays)
    expected = lstd(obs[:-1], rewards, obs[1:], terminals)
    np.testing.assert_allclose(weights(log), expected, rtol=1e-9)
    found = command_line(program, tmp_path, arrays, "--layout", "d4rl")
    np.testing.assert_allclose(found["estimators"][2]["weights"], expected, rtol=1e-9)
    # By names, and saved for the command line.
    names = {"phi": "observations", "phi_next": "next_observations", "reward": "rewards", "end": "timeouts", "terminal": "terminals"}
    named = ictd.Log.arrays({**arrays, "t": np.zeros(3)}, ignore=["t"], **names)
    assert all((named[name] == log[name]).all() for name in log)
    ictd.tasks.save(tmp_path / "saved.npz", log)
    assert ictd.Log.arrays(tmp_path / "saved.npz")["phi_next"].shape == (50, 2)
    # Without next observations the row of a timeout has none, and neither has the last one.
    del arrays["next_observations"]
    kept = np.setdiff1d(np.arange(50), [30, 49])
    expected = lstd(obs[kept], rewards[kept], obs[kept + 1], terminals[kept])
    log = ictd.Log.d4rl(arrays)
    np.testing.assert_allclose(weights(log), expected, rtol=1e-9)
    assert np.flatnonzero(log["end"]).tolist() == [29, 47]


def test_minari():
    def episode(n, terminated, truncated, seed):
        obs, _ = rows(n + 1, seed=seed)
        last = np.arange(n) == n - 1
        # A buffer has lists.
        return SimpleNamespace(
            observations=list(obs), actions=[0] * n, rewards=list(rows(n, seed=seed)[1]),
            terminations=list(last & terminated), truncations=list(last & truncated),
        )

    episodes = [episode(12, True, False, 1), episode(9, False, True, 2), episode(7, False, False, 3)]
    log = ictd.Log.minari(episodes)
    parts = [(np.array(e.observations), np.array(e.rewards)) for e in episodes]
    phi, following = np.concatenate([o[:-1] for o, _ in parts]), np.concatenate([o[1:] for o, _ in parts])
    terminal = np.isin(np.arange(28), [11]).astype(float)
    expected = lstd(phi, np.concatenate([r for _, r in parts]), following, terminal)
    np.testing.assert_allclose(weights(log), expected, rtol=1e-9)
    assert np.flatnonzero(log["end"]).tolist() == [20, 27] and len(log.actions) == 28
    assert len(ictd.Log.minari(episodes[0])["reward"]) == 12
    episodes[0].observations = {"position": episodes[0].observations, "goal": None}
    assert len(ictd.Log.minari(episodes[0], observation="position")["reward"]) == 12
    with pytest.raises(ValueError, match="observation: None; expected one of position, goal"):
        ictd.Log.minari(episodes[0])


def test_a_table_of_a_decision_process_with_a_policy():
    rng = np.random.default_rng(0)
    p, reward = rng.dirichlet(np.ones(5), size=(5, 3)), rng.normal(size=(5, 3, 5))
    policy = rng.dirichlet(np.ones(3), size=5)
    chain, expected = np.einsum("sa,sat->st", policy, p), np.einsum("sa,sat,sat->s", policy, p, reward)
    value = np.linalg.solve(np.eye(5) - GAMMA * chain, expected)
    np.testing.assert_allclose(ictd.tasks.of_mdp(p, reward, policy=policy, gamma=GAMMA).value, value, rtol=1e-6)
    s, a, t = np.indices(p.shape).reshape(3, -1)
    table = {"idstatefrom": s, "idaction": a, "idstateto": t, "probability": p.ravel(), "reward": reward.ravel()}
    np.testing.assert_allclose(ictd.tasks.of_mdp(table, policy=policy, gamma=GAMMA).value, value, rtol=1e-6)
    greedy = np.array([0, 2, 1, 0, 2])
    chain, expected = p[np.arange(5), greedy], (p * reward).sum(2)[np.arange(5), greedy]
    found = ictd.tasks.of_mdp(p, reward, policy=greedy, gamma=GAMMA).value
    np.testing.assert_allclose(found, np.linalg.solve(np.eye(5) - GAMMA * chain, expected), rtol=1e-6)
    for given, message in [
        ({"p": np.swapaxes(p, 0, 1), "reward": reward}, r"p: shape \(3, 5, 5\); expected \(S, A, S\): np.swapaxes"),
        ({"p": p, "reward": reward[:4]}, "reward: shape"),
        ({"p": p / 2, "reward": reward}, "p: probabilities of state 0, action 0 sum to 0.5"),
        ({"p": {**table, "t": s}}, "p: unknown column t"),
        ({"p": p, "reward": reward, "policy": policy[:, :2]}, "policy: expected"),
    ]:
        with pytest.raises(ValueError, match=message):
            ictd.tasks.of_mdp(**{"policy": policy, **given})


def test_wrong_names_are_refused_with_a_right_hint_or_none():
    phi, reward = rows(10)
    for given, names, message in [
        ({"phi": phi, "rewards": reward}, {}, "rewards: unknown; expected names for it"),
        ({"phi": phi, "reward": reward, "timeouts": reward}, {}, r"timeouts: unknown; expected names for it \(phi='timeouts'"),
        ({"phi": phi, "reward": reward}, {"phi": "obs"}, "phi: 'obs' is missing; the file holds phi, reward"),
        ({"phi": phi, "reward": reward}, {"ignore": ["t"]}, "ignore: 't' is missing"),
        ({"phi": phi, "reward": reward}, {"discount": "g"}, "discount: unknown; expected one of phi"),
        ({"reward": reward}, {}, "phi: missing"),
        ({"phi": phi, "reward": reward[:3]}, {}, r"reward: shape \(3,\); expected \(10, ...\)"),
        ({"phi": np.arange(10), "reward": reward}, {}, "one-hot"),
    ]:
        with pytest.raises(ValueError, match=message):
            ictd.Log.arrays(given, **names)
    with pytest.raises(ValueError, match="obs: missing in the layout of sb3; the file holds phi"):
        ictd.Log.sb3({"phi": phi})
    with pytest.raises(ValueError, match="weights: unknown in the layout of sb3"):
        ictd.Log.sb3({**sb3(), "weights": reward})


def pendulum(n=200, seed=0):
    """A damped swing in steps, as (cos, sin, velocity), in episodes of 40 steps that are truncated."""
    rng = np.random.default_rng(seed)
    obs, rewards, starts = [], [], []
    for i in range(n):
        if i % 40 == 0:
            angle, speed = rng.uniform(-3, 3), rng.uniform(-1, 1)
        obs.append([np.cos(angle), np.sin(angle), 8 * speed])
        rewards.append(-(angle**2) - speed**2)
        starts.append(i % 40 == 0)
        speed = 0.95 * speed + 0.15 * np.sin(angle)
        angle = (angle + 0.1 * speed + np.pi) % (2 * np.pi) - np.pi
    return {"obs": np.array(obs), "rewards": np.array(rewards), "episode_starts": np.array(starts)}


@pytest.mark.parametrize("kind", ("standard", "tiles", "fourier"))
def test_observations_give_values_with_an_encoder_that_is_stored_with_the_model(kind, program, tmp_path):
    log = ictd.Log.sb3(pendulum())
    assert not log.has_constant and "no constant feature" in repr(log)
    encoder = getattr(ictd.Encoder, kind)(log["phi"])
    model = ictd.Encoded(encoder, ictd.Model.universal(gamma=GAMMA))
    values = model.values(log)
    assert np.isfinite(values).all() and values.max() < 0
    assert pickle.loads(pickle.dumps(model)).values(log).tobytes() == values.tobytes()
    assert copy.copy(encoder) == encoder and encoder.log(log).has_constant
    encoder.save(tmp_path / "features.json")
    assert ictd.Encoder.load(tmp_path / "features.json")(log["phi"]).tobytes() == encoder(log["phi"]).tobytes()
    options = ("--layout", "sb3", "--model", "universal", "--features")
    # The command line fits its own to all rows, and reads ours.
    line = ["evaluate", "--data", tmp_path / "log.npz", *options, tmp_path / "features.json", "--json", "--out", tmp_path / "out"]
    np.savez(tmp_path / "log.npz", **pendulum())
    found = json.loads(subprocess.run([program, *line], capture_output=True, check=True).stdout)
    assert found["estimators"][0]["weights"] == model.model.value_function(**encoder.log(log)).weights.tolist()


def test_given_numbers_make_an_encoder():
    standard = ictd.Encoder.standard(level=[1.0, 2.0], scale=[2.0, 4.0])
    assert standard([[3.0, 2.0]]).tolist() == [[1.0, 0.0, 1.0]]
    fourier = ictd.Encoder.fourier(low=[0.0], high=[2.0], order=2)
    np.testing.assert_allclose(fourier([[0.5]])[0], np.cos(np.pi * 0.25 * np.arange(3)))
    assert ictd.Encoder.tiles(low=[0.0], high=[1.0], tiles=2, tilings=1)([[0.6]]).tolist() == [[0, 1, 0, 1]]
    for make, message in [
        (lambda: ictd.Encoder.standard(), "level: missing; expected observations, or level and scale"),
        (lambda: ictd.Encoder.standard(level=[0.0], scale=[0.0]), "scale above 0"),
        (lambda: ictd.Encoder.fourier(low=[0.0] * 4, high=[1.0] * 4, order=2), "at most 64 features"),
        (lambda: standard([[1.0]]), "observations: 1 numbers; expected 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


def test_the_returns_tell_which_values_are_better():
    task = ictd.Task("mdp", seed=3)
    phi, reward = task.sample(3000, seed=1)
    log = ictd.Log(phi[:-1], reward, phi[1:])
    states = {row.tobytes(): v for row, v in zip(task.phi, task.value)}
    truth = lambda log, query: [states[row.tobytes()] for row in query]  # noqa: E731
    models = {"true": truth, "half": lambda log, query: np.array(truth(log, query)) / 2, "lstd": ictd.Model.lstd(gamma=GAMMA)}
    found = ictd.evaluate(models, log)
    assert found.best in ("true", "lstd") and found.error["true"] < found.error["half"] < found.error["predicting 0"]
    mean, low, high = found.error["true"]
    assert low < mean < high and found.known[0] > 2900 and "return error" in repr(found)
    assert found.td_error["true"] > 0
    with pytest.raises(ValueError, match="too few returns are known"):
        ictd.evaluate(models, ictd.Log(phi[:4], reward[:4], phi[1:5]))
