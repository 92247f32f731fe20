import runpy
import sys
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_figures_of_the_paper(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["figures.py", str(tmp_path)])
    found = runpy.run_path(str(EXAMPLES / "figures.py"))
    error = found["error"].mean(axis=0)
    assert error[-1] < 0.8 * error[0]
    # Theorem 1: P has its last entry alone, Q a negative diagonal and a positive one beside it.
    p, q = (sum(getattr(run, m)[-1, 0] * (1 if run.p[-1, 0, -1, -1] > 0 else -1) for run in found["runs"]) for m in "pq")
    assert abs(p).argmax() == 80
    assert (q.diagonal()[:4] < 0).all() and (q.diagonal(4)[:4] > 0).all()
    assert (tmp_path / "figure-1.png").stat().st_size > 5000
    assert (tmp_path / "figure-2.png").stat().st_size > 5000


def test_alarms_are_judged_by_area_and_delay():
    found = runpy.run_path(str(EXAMPLES / "alarms.py"))
    labels = np.arange(1000) % 100 >= 90
    assert found["area"](labels, labels) == 1 and found["area"](~labels, labels) == 0 and found["area"](0 * labels, labels) == 0.5
    rising = np.where(np.arange(1000) == 505, 2.0, 0.0)
    assert found["delays"](rising, [(500, 510), (510, 520)], rising[:400]) == [5, np.inf]
    sine = {"sine": found["clean_recordings"]()["sine"]}
    for score, stuck, noise in [("predictor", 0.9, 0.9), ("z_score", 0.1, 0.5), ("ar_residual", 0.3, 0.8)]:
        areas, late, _, _ = found["judge"](found[score], 0, sine, [])
        assert late.shape == (len(found["FAULTS"]), 5)
        assert areas["glitches"] > 0.95 and abs(areas["stuck"] - stuck) < 0.1 and abs(areas["noise"] - noise) < 0.1


def test_a_benchmark_scores_a_perfect_detector_and_none():
    found = runpy.run_path(str(EXAMPLES / "calibration.py"))
    windows = [(1000, 1100), (1500, 1600)]
    perfect, late, none = np.zeros(2000), np.zeros(2000), np.zeros(2000)
    perfect[[1000, 1500]] = late[[1100, 1600]] = 1.0
    score = lambda scores: found["best_score"]([(scores, windows)])[0]  # noqa: E731
    assert score(none) == 0 and score(perfect) > 99 and 40 < score(late) < 60
    # A row that begins the file is not judged, and a false alarm elsewhere costs.
    perfect[100] = 1.0
    assert score(perfect) > 99
    perfect[700] = 1.0
    assert 90 < score(perfect) < 98


def test_agents_learn_to_act():
    found = runpy.run_path(str(EXAMPLES / "act.py"))
    env = found["gym"].make("FrozenLake-v1")
    # The best policy reaches the goal in 0.74 of all episodes, always going to the left in none.
    best = [0, 3, 3, 3, 0, 0, 0, 0, 3, 1, 0, 0, 0, 2, 1, 0]
    assert abs(found["success"](env, best) - 0.74) < 0.01 and found["success"](env, [0] * 16) == 0
    for name, low, high in [("FrozenLake-v1", 0, 1), ("CartPole-v1", 8, 500), ("MountainCar-v0", -1000, -80)]:
        scores = found["scores"](name, seeds=1, steps=300)
        assert len(scores) == 6 and all(low <= score <= high for of in scores.values() for score in of)


def test_a_network_of_another_library_learns_from_the_trainers_tasks():
    found = runpy.run_path(str(EXAMPLES / "other_network.py"))
    untrained, trained = (found["judged"](found["train"](batches), contexts=20) for batches in (0, 500))
    zero = trained.msve["zero"][-1]
    assert untrained.msve["model"][-1] > 0.9 * zero and trained.msve["model"][-1] < 0.6 * zero
    assert trained.explained["TD(0)"] < 0.9
