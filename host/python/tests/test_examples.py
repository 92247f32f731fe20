import runpy
import sys
from pathlib import Path

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
