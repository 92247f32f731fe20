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
