"""Tasks of one's own, the trainer's stream, and the judge of other networks."""

import itertools
import pickle
import subprocess

import ictd
import numpy as np
import pytest


def random_walk(n=19):
    """Sutton & Barto's random walk (examples 6.2 and 7.1): from the middle, -1 at the left end and 1 at the right."""
    p = np.eye(n + 2, k=1) / 2 + np.eye(n + 2, k=-1) / 2
    ends = np.isin(np.arange(n + 2), (0, n + 1))
    reward = np.eye(n + 2)[n] / 2 - np.eye(n + 2)[1] / 2
    return {"p": p, "reward": reward, "p0": np.eye(n + 2)[(n + 1) // 2], "terminal": ends}


def walks(count=50, d=4):
    rng = np.random.default_rng(0)
    return [ictd.Task(phi=rng.uniform(-1, 1, (21, d)), **random_walk()) for _ in range(count)]


def test_true_values_of_the_random_walk_are_the_textbooks():
    task = ictd.Task(gamma=1 - 1e-12, **random_walk())
    np.testing.assert_allclose(task.value[1:-1], np.arange(-9, 10) / 10, atol=1e-8)
    assert (task.value[[0, 20]] == 0).all() and (task.phi[[0, 20]] == 0).all()
    # Visits of a walk from the middle: a triangle.
    np.testing.assert_allclose(task.distribution[1:-1], np.minimum(np.arange(1, 20), np.arange(19, 0, -1)) / 100)


def test_a_walk_that_ends_begins_again():
    phi, reward = ictd.Task(**random_walk()).sample(20000, seed=3)
    states = np.where(phi.any(axis=1), phi.argmax(axis=1), 0)
    ends = np.flatnonzero(states[:-1] == 0)
    assert len(ends) > 100 and (states[ends + 1] == 10).all() and (reward[ends] == 0).all()
    moves = np.delete(np.diff(states)[: ends[-1]], np.concatenate([ends[:-1], ends - 1]))
    assert (abs(moves) == 1).all()


def test_own_tasks_give_the_command_lines_digest(program, tmp_path):
    recipe, tasks = {"tasks": 40, "context_length": 60}, walks()
    ictd.tasks.save(tmp_path / "walks.npz", tasks)
    command = [program, "train", "--task", tmp_path / "walks.npz", "--tasks", "40", "--context-length", "60"]
    subprocess.run([*command, "--out", tmp_path / "out"], check=True, capture_output=True)
    (folder,) = {path.parent.parent for path in tmp_path.rglob("seed_0/data.npz")}
    (run,) = ictd.train(recipe, tasks=tasks)
    assert run.digest == ictd.load_run(folder)[0].digest
    assert np.isfinite(run.metrics["msve"]).all()
    # The same through a file, from Python.
    assert ictd.train({**recipe, "task": str(tmp_path / "walks.npz")})[0].digest == run.digest
    # The folder has the tasks.
    again = ictd.tasks.load(folder / "tasks.npz")
    assert len(again) == 50 and all(np.array_equal(a.phi, b.phi) for a, b in zip(again, tasks))


def test_a_folder_keeps_a_run_which_goes_on(program, tmp_path, capsys):
    recipe = {"tasks": 30, "dim": 2, "layers": 1}
    whole = [run.digest for run in ictd.train(recipe, range(2))]
    first = ictd.train(recipe, [0], folder=tmp_path, progress=True)
    assert capsys.readouterr().err.endswith("30 of 30 tasks\n")
    (folder,) = tmp_path.iterdir()
    assert [run.digest for run in ictd.load_run(folder)] == [run.digest for run in first]
    both = ictd.train(recipe, range(2), folder=tmp_path)
    assert [run.digest for run in both] == whole and len(ictd.load_run(folder)) == 2
    # The command line finds nothing left to do, and trains it longer.
    options = ["--tasks", "50", "--json"]
    subprocess.run([program, "train", "--resume", folder, *options], check=True, capture_output=True)
    (longer,) = set(tmp_path.iterdir()) - {folder}
    expected = [run.digest for run in ictd.train({**recipe, "tasks": 50}, range(2))]
    assert [run.digest for run in ictd.load_run(longer)] == expected != whole


@pytest.mark.parametrize(
    "given, message",
    [
        ({"p": np.eye(3)}, "reward: missing"),
        ({"p": np.ones((3, 2)), "reward": np.ones(3)}, r"p: .*\(3, 2\); expected \(m, m\)"),
        ({"p": np.ones((3, 3)), "reward": np.ones(3)}, "p: .*; expected probabilities that sum to 1"),
        ({"p": np.eye(3), "reward": np.ones(2)}, r"reward: .*\(2,\); expected \(3,\)"),
        ({"p": np.eye(3), "reward": np.ones(3), "phi": np.ones(3)}, "phi: "),
        ({"p": np.eye(3), "reward": np.ones(3), "p0": [1, 1, 0]}, "p0: .*; expected probabilities"),
        ({"p": np.eye(3), "reward": [0, np.nan, 0]}, "reward: NaN at 1"),
        ({"p": np.eye(3), "reward": [0, 1, 0], "terminal": [0, 2, 0]}, "terminal: 2 at 1; expected 0 or 1"),
        ({"p": np.eye(2), "reward": [0, 1], "p0": [0, 1], "terminal": [0, 1]}, "p0: .*; expected 0 for states that end"),
        ({"p": np.eye(65), "reward": np.ones(65)}, "p: 65 states; expected 1 to 64"),
        ({"p": np.eye(3), "reward": [0, 1, 0], "d": 3}, "p: a task of its own; expected no kind"),
    ],
)
def test_arrays_that_are_no_task_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        ictd.Task(**given)


def test_tasks_that_do_not_fit_are_named():
    a, b = ictd.Task(p=np.eye(2), reward=[0, 1]), ictd.Task(p=np.eye(3), reward=[0, 1, 0])
    with pytest.raises(ValueError, match=r"tasks\[1\]: <ictd.Task states=3.*of tasks\[0\]"):
        ictd.train(tasks=[a, b])
    with pytest.raises(ValueError, match="tasks: none"):
        ictd.train(tasks=[])
    with pytest.raises(ValueError, match="tasks: <ictd.Task .*; expected a list"):
        ictd.train(tasks=a)
    with pytest.raises(ValueError, match=r"tasks\[0\]: dict; expected an ictd.Task"):
        ictd.train(tasks=[{"p": np.eye(2), "reward": [0, 1]}])
    with pytest.raises(ValueError, match="dim: 3: expected 2"):
        ictd.train({"dim": 3}, tasks=[a])
    with pytest.raises(ValueError, match="gamma: 0.5: expected 0.9"):
        ictd.train({"gamma": 0.5}, tasks=[a])
    with pytest.raises(FileNotFoundError, match="nowhere.npz"):
        ictd.train({"task": "nowhere.npz"})


def test_sixty_four_one_hot_states_stream_in_a_context():
    ring = ictd.Task(p=np.roll(np.eye(64), 1, axis=1), reward=np.eye(64)[5], gamma=0.9)
    phi, reward = ring.sample(1000)
    for model in (ictd.Model.lstd(lambda_=0.0, ridge=1e-9), ictd.Model.universal(), ictd.Model.online_td()):
        context = ictd.Context(64, model)
        for now, r, after in zip(phi, reward, phi[1:]):
            context.observe(now, r, after)
        assert context.values(ring.phi).tobytes() == model.values(phi, reward, query=ring.phi).tobytes()
        if "lstd" in repr(model):
            np.testing.assert_allclose(context.values(ring.phi), ring.value, atol=1e-6)
    with pytest.raises(ValueError, match="d: 65; expected 1 to 64"):
        ictd.Context(65)


@pytest.mark.parametrize("number", (0, 1, 5))
def test_the_batches_are_the_trainers_own(number):
    # With a step of nothing, P and Q are those of the last batch, whose loss is the log's.
    recipe = {"tasks": number // 2 + 1, "batches": 2, "log_every": 1, "layers": 2, "dim": 3, "learning_rate": 1e-30}
    if number % 2 == 0:
        recipe["batches"], recipe["tasks"] = 1, number + 1
    (run,) = ictd.train(recipe, [7])
    batch = ictd.tasks.batch(7, number, recipe)
    p, q = run.p[-1, 0].astype(float), run.q[-1, 0].astype(float)
    values = []
    for z in batch.prompts.astype(float):
        n = z.shape[1] - 1
        mask = np.diag([1.0] * n + [0.0])
        for _ in range(2):
            z = z + p @ z @ mask @ (z.T @ q @ z) / n
        values.append(-z[6, n])
    values = np.array(values)
    delta = batch.reward + batch.gamma * values[1:] - values[:-1]
    assert batch.prompts.shape == (65, 7, 31) and run.metrics["loss"][-1] > 0
    np.testing.assert_allclose((delta**2).mean(), run.metrics["loss"][-1], rtol=1e-5)


def test_batches_come_in_order_and_belong_to_one_task_each():
    recipe = {"batches": 2, "states": 5, "dim": 3}
    some = list(itertools.islice(ictd.tasks.batches(3, recipe), 4))
    assert [batch.number for batch in some] == [0, 1, 2, 3]
    for batch in some:
        assert np.array_equal(batch.prompts, ictd.tasks.batch(3, batch.number, recipe).prompts)
        assert len(np.unique(batch.phi, axis=0)) <= 5 and np.isfinite(batch.value).all()
    states = [set(map(tuple, batch.phi)) for batch in some]
    assert states[0] & states[1] and not states[1] & states[2]
    with pytest.raises(ValueError, match="loss: expected"):
        ictd.tasks.batches(0, {"loss": "monte-carlo"})


def test_the_judge_knows_td_from_lstd_and_from_nothing():
    recipe = {"layers": 3, "dim": 3}
    td = ictd.judge(ictd.Model.td0(3, alpha=0.2, layers=3), recipe, contexts=60)
    assert td.explained["TD(0)"] > 1 - 1e-9 and td.vd < 1e-12 and td.iws > 1 - 1e-9 and td.ss > 1 - 1e-6
    assert all(share < 1 - 1e-4 for name, share in td.explained.items() if name != "TD(0)")
    lstd = ictd.judge(ictd.Model.lstd(lambda_=0.0, ridge=0.3), recipe, contexts=60)
    assert lstd.explained["TD(0)"] < 0.98
    np.testing.assert_allclose(lstd.msve["model"], lstd.msve["lstd"], rtol=1e-9)
    nothing = ictd.judge(lambda phi, reward, query: np.zeros(query.shape[:2]), recipe, contexts=60)
    np.testing.assert_allclose(nothing.msve["model"], nothing.msve["zero"])
    assert (td.msve["td0"] <= td.msve["model"] * 1.5).all() and td.msve["length"][-1] == 30
    assert "\n" not in repr(td)


@pytest.mark.parametrize("length", (0, 6))
def test_a_length_that_no_context_has_is_refused(length):
    with pytest.raises(ValueError, match=f"lengths: {length}; expected 1 to 5"):
        ictd.judge(ictd.Model.universal(), {"context_length": 5}, contexts=4, lengths=[5, length])


def test_prompts_have_the_same_numbers_for_integers():
    phi, reward, query = np.eye(3, dtype=int)[None, [0, 1, 2]], np.array([[1, 2]]), np.eye(3, dtype=int)[None, :1]
    found = ictd.tasks.prompts(phi, reward, query, 0.9)
    assert found.tolist() == ictd.tasks.prompts(phi.astype(float), reward, query, 0.9).tolist()
    assert found.tolist() == ictd.tasks.prompts(phi.astype(bool), reward, query.astype(bool), 0.9).tolist()
    assert found[0, 0, 3:6].tolist() == [[0, 0, 0], [0.9, 0, 0], [0, 0.9, 0]]
    for given, message in [
        ((phi, reward[0], query), "reward: int64 of shape .*; expected real numbers with 2 axes"),
        ((phi, reward[:, :1], query), r"reward: shape \(1, 1\); expected \(1, 2\)"),
        ((phi, reward, query[..., :2]), r"query: shape \(1, 1, 2\); expected \(1, 1, 3\)"),
        ((phi * 1j, reward, query), "phi: complex128"),
    ]:
        with pytest.raises(ValueError, match=message):
            ictd.tasks.prompts(*given, 0.9)


P, R = np.full((3, 3), 1 / 3), np.arange(9.0).reshape(3, 3)


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({"p": P, "reward": R}, r"some.npz: array `reward`: float64 of shape \(3, 3\); expected \(3,\)"),
        ({"p": [P] * 4, "reward": [R[0]] * 4, "phi": [R] * 2}, r"array `phi`: float64 of shape \(2, 3, 3\); expected"),
        ({"p": P, "reward": R[0], "gamma": [0.9, 0.8]}, "array `gamma`: "),
        ({"phi": R, "reward": R[0]}, "task: log-.*: the true values of logged transitions are not known"),
    ],
)
def test_files_without_tasks_are_refused_as_the_trainer_does(arrays, message, tmp_path):
    np.savez(tmp_path / "some.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        ictd.tasks.load(tmp_path / "some.npz")


def test_tasks_of_a_file_share_what_has_no_axis_of_tasks(tmp_path):
    np.savez(tmp_path / "some.npz", p=[P] * 2, reward=R[:2], terminal=[0, 0, 1], gamma=[0.5] * 2)
    a, b = ictd.tasks.load(tmp_path / "some.npz")
    assert (a.reward.tolist(), b.reward.tolist()) == ([0, 1, 0], [3, 4, 0]) and a.gamma == b.gamma == 0.5
    assert a.terminal.tolist() == [False, False, True] and a.phi.shape == (3, 3)


def test_a_function_of_arrays_is_judged_as_the_model_that_it_is():
    recipe = {"dim": 3}
    (run,) = ictd.train({**recipe, "tasks": 200})
    p, q = run.p[-1, 0].astype(float), run.q[-1, 0].astype(float)

    def forward(phi, reward, query):
        z = ictd.tasks.prompts(phi, reward, query, 0.9)
        for _ in range(3):
            context = z[..., :-1]
            z = z + p @ context @ (context.swapaxes(-1, -2) @ q @ z) / context.shape[-1]
        return -z[..., -1, -1]

    a, b = ictd.judge(forward, recipe, contexts=20), ictd.judge(run.model(layers=3), recipe, contexts=20)
    for name in ("vd", "iws", "ss"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(a.msve["model"], b.msve["model"], rtol=1e-9)
    with pytest.raises(ValueError, match="function: values of shape"):
        ictd.judge(lambda phi, reward, query: np.zeros(3), recipe, contexts=4)


def test_tasks_pickle():
    for task in (walks(1)[0], ictd.Task("mdp", seed=3, states=7)):
        again = pickle.loads(pickle.dumps(task))
        assert again.sample(50)[0].tobytes() == task.sample(50)[0].tobytes()
        assert again.value.tobytes() == task.value.tobytes() and repr(again) == repr(task)


def logged(task=None, n=400):
    """A log of Boyan's chain: the arrays of a file."""
    phi, reward = (task or ictd.Task("boyan", seed=2)).sample(n)
    return {"phi": phi, "reward": reward, "gamma": 0.9}


def test_a_log_gives_the_command_lines_digest(program, tmp_path):
    recipe, log = {"tasks": 30, "context_length": 20, "batch_size": 16}, logged()
    np.savez(tmp_path / "log.npz", **log)
    command = [program, "train", "--task", tmp_path / "log.npz", "--tasks", "30", "--context-length", "20"]
    subprocess.run([*command, "--batch-size", "16", "--out", tmp_path / "out"], check=True, capture_output=True)
    (folder,) = {path.parent.parent for path in tmp_path.rglob("seed_0/data.npz")}
    digest = ictd.load_run(folder)[0].digest
    (run,) = ictd.train(recipe, tasks=log)
    assert run.digest == digest and np.isfinite(run.metrics["loss"]).all() and np.isnan(run.metrics["msve"]).all()
    # From the open file, from the run's own copy, as next features, and in a folder.
    with np.load(folder / "tasks.npz") as file:
        assert ictd.train(recipe, tasks=file)[0].digest == digest
    phi = log["phi"]
    follows = {"phi": phi[:-1], "phi_next": phi[1:], "reward": log["reward"], "gamma": 0.9}
    assert ictd.train(recipe, tasks=follows, folder=tmp_path / "again")[0].digest == digest
    assert [path.name for path in (tmp_path / "again").iterdir()] == [folder.name]


def test_the_arrays_of_tasks_are_the_tasks(tmp_path):
    tasks = walks(3)
    ictd.tasks.save(tmp_path / "walks.npz", tasks)
    with np.load(tmp_path / "walks.npz") as file:
        assert ictd.train({"tasks": 4}, tasks=file)[0].digest == ictd.train({"tasks": 4}, tasks=tasks)[0].digest


def test_batches_of_a_log_are_windows_of_it():
    rng = np.random.default_rng(1)
    episode = np.repeat(np.arange(1, 41), 30)
    log = {"phi": np.stack([episode, np.arange(1200.0)], axis=1), "reward": rng.normal(size=1200)}
    log["terminal"] = np.arange(1200) % 30 == 29
    log["end"] = np.arange(1200) % 120 == 119
    log["terminal"][log["end"]] = False
    recipe = {"context_length": 20, "batch_size": 40}
    for batch in itertools.islice(ictd.tasks.batches(3, recipe, tasks=log), 40):
        inside = batch.phi[:, 0] > 0
        rows = batch.phi[inside, 1].astype(int)
        # Rows follow each other, with a state of zeros after each terminated episode, and no window has a cut.
        assert (np.diff(rows) == 1).all() and np.isnan(batch.value).all()
        left = rows[:-1] if inside[-1] else rows
        assert not log["end"][left].any() and (~inside).sum() == log["terminal"][left].sum()


@pytest.mark.parametrize(
    "given, recipe, message",
    [
        ({}, {"context_length": 400}, "task: log-.*: task 0 has at most 400 transitions in a row; expected 465"),
        ({}, {"loss": "true_value"}, "loss: "),
        ({}, {"loss": "monte-carlo"}, "loss: monte-carlo: the values of logged transitions are not known"),
        ({"rewards": [1]}, {}, "array `rewards`: unknown"),
        ({"reward": np.ones((3, 3))}, {}, r"tasks: array `reward`: float64 of shape \(3, 3\); expected \(401,\)"),
        ({"terminal": np.full(401, 2)}, {}, "array `terminal`: 2 in row 1; expected 0 or 1"),
        ({"phi": [[np.nan, 1]] * 401}, {}, "array `phi`: NaN in row 1, column 1"),
    ],
)
def test_a_log_that_cannot_be_trained_on_is_named(given, recipe, message):
    with pytest.raises(ValueError, match=message):
        ictd.train(recipe, tasks={**logged(), **given})


def test_nobody_is_judged_on_a_log():
    with pytest.raises(ValueError, match="a task whose true values are known"):
        ictd.judge(ictd.Model.td0(4), tasks=logged())
