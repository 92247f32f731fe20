"""Training from Python: the command line's bits, watched and interrupted."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import xml.etree.ElementTree

import ictd
import numpy as np
import pandas
import pytest

SMALL = {"tasks": 20, "layers": 2, "dim": 2, "context_length": 8, "states": 5}


def test_seeds_are_the_command_lines_to_the_bit(program, tmp_path):
    options = [part for key, value in SMALL.items() for part in (f"--{key.replace('_', '-')}", str(value))]
    subprocess.run([program, "train", *options, "--seeds", "3", "--out", tmp_path / "out"], check=True, capture_output=True)
    (folder,) = {path.parent.parent for path in tmp_path.rglob("seed_0/data.npz")}
    read, trained = ictd.load_run(folder), ictd.train(SMALL, range(3))
    assert [run.seed for run in read] == [run.seed for run in trained] == [0, 1, 2]
    for a, b in zip(read, trained):
        assert a.digest == b.digest
        assert a.p.tobytes() == b.p.tobytes() and a.q.tobytes() == b.q.tobytes()
        assert a.metrics.keys() == b.metrics.keys()
        assert all(np.array_equal(a.metrics[name], b.metrics[name], equal_nan=True) for name in a.metrics)


def test_threads_and_company_do_not_change_a_seed():
    alone = [ictd.train(SMALL, [seed])[0].digest for seed in (4, 7)]
    for threads in (1, 3):
        assert [run.digest for run in ictd.train(SMALL, [7, 4, 4], threads=threads)] == alone


def test_every_log_point_is_told():
    seen = {}
    runs = ictd.train(SMALL, range(5), on_log=lambda seed, log: seen.setdefault(seed, []).append(log))
    for run in runs:
        assert [log["tasks"] for log in seen[run.seed]] == run.metrics["tasks"].tolist() == [10, 20]
        assert [log["loss"] for log in seen[run.seed]] == run.metrics["loss"].tolist()


def test_an_exception_in_on_log_ends_the_run():
    def fail(seed, log):
        raise LookupError(f"seed {seed}")

    with pytest.raises(LookupError, match="seed 1"):
        ictd.train({"tasks": 10**8}, [1], on_log=fail)


def test_the_model_that_was_trained_predicts():
    (run,) = ictd.train(SMALL, [0])
    task = ictd.Task(d=2, states=5)
    values = run.model(gamma=0.9, layers=2).values(*task.sample(8), query=task.phi)
    by_hand = forward(run.p[-1, 0], run.q[-1, 0], *task.sample(8), task.phi)
    np.testing.assert_allclose(values, by_hand, rtol=1e-9)


@pytest.mark.parametrize(
    "recipe",
    [
        {"layers": 3},
        {"layers": 2, "layer_sharing": "sequential"},
        {"layers": 1, "trace_decay": 0.9, "gamma": 0.5},
        {"layers": 2, "attention": "softmax", "dim": 4},
        {"layers": 6, "attention": "softmax", "dim": 9, "states": 10},
    ],
)
def test_the_model_of_a_run_is_that_of_its_folder(recipe, tmp_path):
    (run,) = ictd.train({**SMALL, **recipe}, folder=tmp_path)
    (folder,) = tmp_path.iterdir()
    task = ictd.Task(d=recipe.get("dim", 2), states=5).sample(20)
    of_file = ictd.Model.load(folder).values(*task)
    for model in (run.model(), ictd.load_run(folder)[0].model(), run.model(gamma=recipe.get("gamma"))):
        assert model.values(*task).tobytes() == of_file.tobytes() and model.layers == recipe["layers"]
    for refused in (run.model, lambda gamma: ictd.Model.load(folder, gamma=gamma)):
        with pytest.raises(ValueError, match="gamma: 0.3 contradicts the model's file, which has 0."):
            refused(gamma=0.3)
    if "layer_sharing" in recipe:
        with pytest.raises(ValueError, match="layers: 5 contradicts the model's file, which has 2"):
            run.model(layers=5)
    else:
        again = ictd.Model.load(folder, layers=5).values(*task)
        assert run.model(layers=5).values(*task).tobytes() == again.tobytes() != of_file.tobytes()


def test_a_network_without_p_and_q_is_no_model():
    (run,) = ictd.train({"tasks": 20, "network": "rnn"})
    with pytest.raises(ValueError, match="network: an RNN"):
        run.model()


def test_a_seed_that_diverged_is_said_to():
    (run,) = ictd.train({"tasks": 200, "learning_rate": 50.0}, seeds=[3])
    with pytest.raises(ValueError, match="seed 3 diverged in training: its P and Q are not finite"):
        run.model()


def forward(p, q, phi, reward, query):
    """The paper's equation (1), twice: Z + P Z M (Z^T Q Z) / n, and minus the last entry."""
    p, q, n = p.astype(float), q.astype(float), len(reward)
    values = []
    for state in query:
        z = np.zeros((5, n + 1))
        z[:2, :n], z[2:4, :n], z[4, :n], z[:2, n] = phi[:-1].T, 0.9 * phi[1:].T, reward, state
        mask = np.diag([1.0] * n + [0.0])
        for _ in range(2):
            z = z + p @ z @ mask @ (z.T @ q @ z) / n
        values.append(-z[4, n])
    return values


def test_the_table_is_long():
    runs = ictd.train(SMALL, range(2))
    frame = pandas.DataFrame(ictd.table(runs))
    assert frame.groupby("seed").tasks.max().tolist() == [20, 20]
    assert list(frame.columns[:3]) == ["seed", "tasks", "alpha"]


@pytest.mark.parametrize(
    "recipe, message",
    [
        ({"layer": 1}, "recipe: layer is not a setting: .*did you mean `layers`"),
        ({"seed": 1}, "recipe: seed is not a setting: .*[^?)]$"),
        ({"layers": 0}, "layers"),
        ({"gamma": 1.0}, "gamma"),
        ({"attention": "hard"}, "hard"),
        ({"dim": 2.5}, "2.5"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(recipe, message):
    with pytest.raises(ValueError, match=message):
        ictd.train(recipe)


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(FileNotFoundError):
        ictd.load_run(tmp_path)
    ictd.train({"tasks": 2}, folder=tmp_path)
    (folder,) = tmp_path.iterdir()
    (folder / "seed_0/checkpoint.bin").unlink()
    with pytest.raises(ValueError, match="path: no seed has finished here"):
        ictd.load_run(folder)


def test_runs_of_a_sweep_are_loaded(program, tmp_path):
    plan = "seeds = 2\n[settings]\ntasks = 20\nlayers = 1\n[grid]\nlearning-rate = [0.001, 0.002]\n"
    (tmp_path / "plan.toml").write_text(plan)
    subprocess.run([program, "sweep", tmp_path / "plan.toml", "--out", tmp_path / "out"], check=True, capture_output=True)
    found = [run.digest for folder in sorted((tmp_path / "out").iterdir()) for run in ictd.load_run(folder)]
    expected = [run.digest for rate in (0.001, 0.002) for run in ictd.train({"tasks": 20, "layers": 1, "learning_rate": rate}, range(2))]
    assert sorted(found) == sorted(expected)


def test_ctrl_c_is_a_keyboard_interrupt(tmp_path):
    program = """
        import ictd, signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            ictd.train({"tasks": 10**8}, [0], on_log=lambda seed, log: print("begun", flush=True))
        except KeyboardInterrupt:
            print("interrupted")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "interrupted" and process.returncode == 0


def test_other_threads_run_while_it_trains():
    counted, done = [], threading.Event()

    def count():
        while not done.is_set():
            counted.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    ictd.train({"tasks": 100}, range(os.cpu_count() or 1))
    done.set()
    thread.join()
    assert len(counted) > 3 and max(np.diff(counted)) < 1.0


def test_a_notebook_shows_the_figure_of_a_run():
    (run,) = ictd.train(SMALL)
    figure = xml.etree.ElementTree.fromstring(f"<div>{run._repr_html_()}</div>")
    assert run.digest in figure.find("p").text
    titles = [svg.find("text").text for svg in figure.findall("svg")]
    assert titles == ["P, layer 1", "Q, layer 1", "loss", "vd", "iws", "ss", "msve"]
    cells = [rect.get("fill") for rect in figure.find("svg").findall("rect")]
    # The largest entry has the full colour, and the last one is not negative.
    assert len(cells) == run.p[-1, 0].size and {"rgb(255,0,0)", "rgb(0,0,255)"} & set(cells) and cells[-1].startswith("rgb(255,")
