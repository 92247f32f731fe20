"""The suite of `ictd bench`, for models and functions."""

import json
import subprocess

import ictd
import numpy as np
import pytest


def test_the_suite_has_the_command_lines_scores_for_models_and_functions(program, tmp_path):
    def lstd(phi, reward, query, rho):
        # LSTD(0) with a ridge, in numpy.
        found = []
        for x, r, q, w in zip(phi, reward, query, rho):
            a = (w[:, None] * x[:-1]).T @ (x[:-1] - 0.9 * x[1:]) + 0.3 * np.diag((x[:-1] ** 2).mean(0))
            found.append(q @ np.linalg.solve(a, (w[:, None] * x[:-1]).T @ r))
        return np.stack(found)

    found = ictd.bench({"LSTD(0)": ictd.Model.lstd(0.0), "numpy": lstd, "soft": lambda *of: np.full(of[2].shape[:2], np.nan)}, contexts=6)
    for task, (mean, low, high) in found.scores["LSTD(0)"].items():
        assert np.allclose(found.scores["numpy"][task], (mean, low, high), rtol=0.1), task
        assert low < mean < high and abs(found.scores["soft"][task][0] - 10) < 1e-9
    found.save(tmp_path / "bench.json")
    ours = json.loads((tmp_path / "bench.json").read_text())
    arguments = ["bench", "--contexts", "6", "--json", "--out", tmp_path / "out"]
    theirs = json.loads(subprocess.run([program, *arguments], capture_output=True, check=True).stdout)
    assert {name: ours["scores"][name] for name in theirs["scores"]} == theirs["scores"]
    assert ours["seed"] == theirs["seed"] and ours["contexts"] == theirs["config"]["contexts"] == theirs["contexts"]
    assert "numpy" in repr(found)
    for wrong, message in [(ictd.Model.td0(3), "d: 3 features"), (lambda *of: of[2], "function: values of shape")]:
        with pytest.raises(ValueError, match=message):
            ictd.bench({"wrong": wrong}, contexts=2)
