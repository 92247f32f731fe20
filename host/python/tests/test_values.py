"""Models and contexts: their values are the command line's, their errors name the argument."""

import ast
import copy
import importlib.metadata
import inspect
import json
import pickle
import subprocess
import threading
from pathlib import Path

import ictd
import numpy as np
import pytest


def trajectory(n=50, d=4, seed=1):
    return ictd.Task("boyan", seed=seed, d=d).sample(n, seed=seed)


MODELS = {
    "td0": (ictd.Model.td0(4), []),
    "td_lambda": (ictd.Model.td_lambda(4, trace_decay=0.5), ["--trace-decay", "0.5"]),
    "universal": (ictd.Model.universal(gamma=0.9), ["--model", "universal"]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("episodes", (False, True))
def test_values_are_the_command_lines_to_the_bit(name, episodes, program, tmp_path):
    model, options = MODELS[name]
    phi, reward = trajectory()
    following, terminal = phi[1:].copy(), np.zeros(50, bool)
    if episodes:
        terminal[[9, 30]] = True
    names = [f"phi_{i}" for i in range(4)] + ["reward"] + [f"phi_next_{i}" for i in range(4)]
    columns = [phi[:-1], reward[:, None], following]
    if episodes:
        names.append("terminal")
        columns.append(terminal[:, None].astype(int))
    rows = [",".join(repr(float(x)) for x in row) for row in np.hstack(columns)]
    (tmp_path / "data.csv").write_text("\n".join([",".join(names), *rows]))
    arguments = ["evaluate", "--data", tmp_path / "data.csv", *options, "--json", "--out", tmp_path / "out"]
    found = json.loads(subprocess.run([program, *arguments], capture_output=True, check=True).stdout)
    marks = {"terminal": terminal} if episodes else {}
    weights = model.value_function(phi[:-1], reward, following, **marks).weights
    assert weights.tolist() == found["estimators"][0]["weights"]


def test_a_stream_and_an_array_give_the_same_bits():
    phi, reward = trajectory()
    models = [model for model, _ in MODELS.values()]
    models += [ictd.Model.batch_td(), ictd.Model.lstd(), ictd.Model.online_td(), ictd.Model.recursive_lstd()]
    for model in models:
        context = ictd.Context(4, model)
        for now, r, following in zip(phi, reward, phi[1:]):
            context.observe(now, r, following)
        assert len(context) == 50
        assert context.values(phi).tobytes() == model.values(phi, reward).tobytes()
        assert context.value_function().weights.tobytes() == model.value_function(phi, reward).weights.tobytes()
        assert context.values(phi[3]) == context.values(phi)[3]


def test_batch_td_is_what_the_layers_of_theorem_1_compute():
    phi, reward = trajectory()
    transformer = ictd.Model.td0(4, alpha=0.2, layers=15).value_function(phi, reward).weights
    w = np.zeros(4)
    for _ in range(15):
        delta = reward + 0.9 * phi[1:] @ w - phi[:-1] @ w
        w = w + 0.2 * (delta @ phi[:-1]) / 50
    np.testing.assert_allclose(transformer, w, rtol=1e-12)
    np.testing.assert_allclose(ictd.Model.batch_td(alpha=0.2).value_function(phi, reward).weights, w, rtol=1e-12)


def test_preconditioned_td_is_what_its_formula_says():
    phi, reward = trajectory()
    found = ictd.Model.preconditioned_td(4, alpha=2.0, beta=0.4, layers=3).value_function(phi, reward).weights
    here, following = phi[:-1], phi[1:]
    sigma, w, c = here.T @ here / 50, np.zeros(4), 2.0 * np.eye(4)
    for _ in range(3):
        w = w + c @ ((reward + 0.9 * following @ w - here @ w) @ here) / 50
        c = c - 0.4 * sigma @ c
    assert np.abs(found - w).max() < 1e-13


def test_lstd_is_the_textbooks():
    phi, reward = trajectory(200)
    phi_t, phi_next = phi[:-1], phi[1:]
    a, b = phi_t.T @ (phi_t - 0.9 * phi_next), phi_t.T @ reward
    np.testing.assert_allclose(
        ictd.Model.lstd(lambda_=0.0, ridge=0.0).value_function(phi, reward).weights, np.linalg.solve(a, b), rtol=1e-9
    )


def test_terminal_states_have_no_value_and_cuts_reset_the_trace():
    phi, reward = trajectory(20)
    terminal = np.zeros(20, bool)
    terminal[7] = True
    following = phi[1:].copy()
    zero = following.copy()
    zero[7] = 0.0
    model = ictd.Model.td_lambda(4)
    marked = model.value_function(phi[:-1], reward, following, terminal=terminal).weights
    assert (marked == model.value_function(phi[:-1], reward, zero, end=terminal).weights).all()
    assert (marked != model.value_function(phi[:-1], reward, zero).weights).any()


def test_another_discount_is_another_value():
    phi, reward = trajectory()
    model = ictd.Model.universal(gamma=0.9)
    half = model.values(phi, reward, gamma=0.5)
    assert half.tobytes() == ictd.Model.universal(gamma=0.5).values(phi, reward).tobytes()
    assert (half != model.values(phi, reward)).any()
    assert model.gamma == 0.9


def test_a_context_that_forgets_prefers_the_present():
    context = ictd.Context(1, ictd.Model.lstd(lambda_=0.0, ridge=1e-9, gamma=0.0), retention=0.5)
    for reward in [100.0] * 20 + [1.0] * 20:
        context.observe([1.0], reward, [1.0])
    assert abs(context.values([1.0]) - 1.0) < 1e-3
    copied = context.copy()
    context.clear()
    assert (len(context), len(copied)) == (0, 40)


def test_lists_other_dtypes_and_layouts_are_taken():
    phi, reward = trajectory()
    model = ictd.Model.universal()
    expected = model.values(phi, reward).tolist()
    assert model.values(phi.tolist(), reward.tolist()).tolist() == expected
    fields = np.zeros(len(phi), dtype=[("mark", "u1"), ("phi", "f8", phi.shape[1])])
    fields["phi"] = phi
    spread = np.zeros((2 * len(phi), 3 * phi.shape[1]))
    spread[::2, ::3] = phi
    fixed = phi.copy()
    fixed.flags.writeable = False
    layouts = [np.asfortranarray(phi), fields["phi"], spread[::2, ::3], phi[::-1].copy()[::-1], fixed, phi.astype(">f8")]
    for layout in layouts:
        assert model.values(layout, reward).tolist() == expected
    half = phi.astype(np.float16)
    assert model.values(half, reward).tolist() == model.values(half.astype(float), reward).tolist()
    single = phi.astype(np.float32)
    assert model.values(single, reward).tolist() == model.values(single.astype(float), reward).tolist()


def test_columns_of_rewards_and_unmasked_arrays_are_taken():
    phi, reward = trajectory()
    model = ictd.Model.universal()
    expected = model.values(phi, reward).tolist()
    assert model.values(phi, reward[:, None]).tolist() == expected
    assert model.values(np.ma.masked_array(phi, False), reward).tolist() == expected
    marks = np.zeros(50)
    assert model.values(phi[:-1], reward, phi[1:], query=phi, end=marks).tolist() == expected


def test_models_and_contexts_pickle_and_copy():
    phi, reward = trajectory()
    models = [model for model, _ in MODELS.values()]
    models += [ictd.Model.batch_td(), ictd.Model.lstd(), ictd.Model.online_td(true_online=False), ictd.Model.recursive_lstd()]
    models += [ictd.Model.linear(np.eye(9), np.eye(9), layers=2), ictd.Model.universal(gamma=0.123456789012345)]
    for model in models:
        again = pickle.loads(pickle.dumps(model))
        assert repr(again) == repr(copy.copy(model)) == repr(model) and again.gamma == model.gamma
        contexts = [ictd.Context(4, model)] + ([ictd.Context(4, model, 0.9)] if "td" not in repr(model) else [])
        for context in contexts:
            for at in range(50):
                if at == 20:
                    context.end_episode()
                if at == 30:
                    stored, copied = pickle.loads(pickle.dumps(context)), copy.deepcopy(context)
                context.observe(phi[at], reward[at], phi[at + 1])
                if at >= 30:
                    stored.observe(phi[at], reward[at], phi[at + 1])
                    copied.observe(phi[at], reward[at], phi[at + 1])
            assert stored.value_function().weights.tobytes() == copied.value_function().weights.tobytes() == context.value_function().weights.tobytes()
            assert len(stored) == 50 and repr(stored) == repr(context)


def test_models_are_told_apart_by_their_settings_and_equal_by_their_numbers():
    assert repr(ictd.Model.lstd(0.0)) == "<ictd.Model lstd, lambda_=0, ridge=0.3, gamma=0.9>"
    models = [ictd.Model.lstd(0.0), ictd.Model.lstd(0.9), ictd.Model.td0(4, layers=3), ictd.Model.td0(4), ictd.Model.td_lambda(4)]
    models += [ictd.Model.linear(np.eye(9) * size, np.eye(9), layers=2) for size in (1, 2)] + [ictd.Model.universal(gamma=g) for g in (0.5, 0.6)]
    assert len({repr(model) for model in models}) == len(set(models)) == len(models)
    for model in models:
        again = pickle.loads(pickle.dumps(model))
        assert again == model and hash(again) == hash(model)
    assert models[0] != "lstd"
    assert ictd.Model.td0(4, layers=3.0) == ictd.Model.td0(4, layers=3)
    assert ictd.train({"tasks": 2, "layers": 1.0})[0].digest == ictd.train({"tasks": 2, "layers": 1})[0].digest
    with pytest.raises(TypeError):
        ictd.Model.td0(4, layers=2.5)


def test_threads_that_share_a_context_wait():
    phi, reward = trajectory(1000)
    context, failed = ictd.Context(4), []

    def work():
        try:
            for at in range(200):
                context.observe(phi[at], reward[at], phi[at + 1])
                context.values(phi)
        except Exception as e:
            failed.append(e)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(context) == 1600


def test_docstrings_reprs_and_the_version_are_there_at_run_time():
    of_stub = ast.parse((Path(ictd.__file__).parent / "_ictd.pyi").read_text())
    checked = 0
    for cls in (node for node in of_stub.body if isinstance(node, ast.ClassDef) and hasattr(ictd, node.name)):
        assert inspect.cleandoc(ast.get_docstring(cls)) == inspect.getdoc(getattr(ictd, cls.name))
        for node in (node for node in cls.body if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)):
            if node.name.startswith("__"):
                continue
            assert ast.get_docstring(node) == inspect.getdoc(getattr(getattr(ictd, cls.name), node.name))
            checked += 1
    assert checked > 30 and "(n + 1, d)" in ictd.Model.values.__doc__
    assert ictd.__version__ == importlib.metadata.version("ictd")
    phi, reward = trajectory()
    for thing in (ictd.Model.lstd(), ictd.Context(4), ictd.Task(), ictd.Predictor([5]), ictd.Predictor([5]).run(reward)):
        assert "\n" not in repr(thing) and len(repr(thing)) < 120 and repr(thing).startswith("<ictd.")


def test_the_wheel_says_whose_it_is():
    about = importlib.metadata.metadata("ictd")
    assert about["License-Expression"] == "MIT OR Apache-2.0" and about["Author"] or about["Author-email"]
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= set(about.get_all("License-File"))
    assert len(about.get_all("Project-URL"))


def test_threads_do_not_change_results():
    phi, reward = trajectory(2000)
    model = ictd.Model.universal()
    expected, found = model.values(phi, reward).tobytes(), []
    work = lambda: found.append(model.values(phi, reward).tobytes())  # noqa: E731
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


@pytest.mark.parametrize("d", (4, 9, 16, 32, 64))
def test_a_thread_with_a_small_stack_computes_the_same(d):
    def work():
        task = ictd.Task("boyan", d=d)
        own = ictd.Task(p=task.p, reward=task.reward, phi=task.phi)
        phi, reward = own.sample(40)
        found = [own.value, own.distribution, ictd.Predictor([5]).run(reward).value]
        models = [ictd.Model.universal(), ictd.Model.td0(d), ictd.Model.lstd(), ictd.Model.online_td(), ictd.Model.recursive_lstd()]
        if d <= 32:
            recipe = {"dim": d, "tasks": 2, "layers": 2}
            kinds = ("linear", "softmax") if d == 4 else ("linear",)
            models += [ictd.train({**recipe, "attention": kind})[0].model() for kind in kinds]
            found += [ictd.tasks.batch(0, 1, recipe).prompts, list(ictd.judge(models[5], recipe, contexts=4).msve.values())]
        for model in models:
            context = pickle.loads(pickle.dumps(ictd.Context(d, model)))
            for at in range(40):
                context.observe(phi[at], reward[at], phi[at + 1])
            found += [model.values(phi, reward), context.values(phi), context.copy().values(phi)]
        return [np.asarray(array).tobytes() for array in found]

    found, before = [], threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [work()]


PHI, REWARD = np.ones((3, 4)), np.ones(2)
REFUSED = [
    (lambda: ictd.Model.universal(gamma=1.0), r"gamma is out of range: expected \[0, 1\)"),
    (lambda: ictd.Model.universal(d=65), "d: 65; expected 1 to 64"),
    (lambda: ictd.Model.td0(0), "d: 0; expected 1 to 64"),
    (lambda: ictd.Model.td0(4, layers=0), "layers"),
    (lambda: ictd.Model.td0(4, layers=-1), "layers: -1; expected an integer, at least 0"),
    (lambda: ictd.Model.td0(4, alpha=-1.0), "alpha: -1; expected a number above 0"),
    (lambda: ictd.Model.preconditioned_td(4, 0.0, 0.1), "alpha: 0; expected a number above 0"),
    (lambda: ictd.Model.preconditioned_td(4, 0.1, float("nan")), "beta: NaN; expected a finite number"),
    (lambda: ictd.Model.batch_td(iterations=0), "iterations: 0; expected 1 to 65535"),
    (lambda: ictd.Context(-1), "d: -1; expected an integer"),
    (lambda: ictd.Task(seed=-1), "seed: -1; expected an integer"),
    (lambda: ictd.table([]), "runs: none"),
    (lambda: ictd.Model.td_lambda(4, trace_decay=2.0), "trace_decay"),
    (lambda: ictd.Model.lstd(ridge=-1.0), "ridge"),
    (lambda: ictd.Model.online_td(alpha=float("nan")), "alpha"),
    (lambda: ictd.Model.recursive_lstd(retention=1.0), "retention"),
    (lambda: ictd.Model.universal().values(PHI, np.ones(3)), r"phi: shape \(3, 4\) with 3 rewards; expected \(4, d\)"),
    (lambda: ictd.Model.universal().values(PHI, np.ones(3), PHI[:2]), "phi_next: shape"),
    (lambda: ictd.Model.universal().values(PHI, REWARD, query=np.ones((2, 3))), r"query: shape \(2, 3\); expected \(m, 4\)"),
    (lambda: ictd.Model.universal().values(PHI, REWARD, terminal=[True]), "terminal: 1 marks; expected 2"),
    (lambda: ictd.Model.universal().values(PHI * np.nan, REWARD), "phi: .* is NaN or infinite"),
    (lambda: ictd.Model.universal().values(PHI, REWARD, gamma=-0.1), "gamma: -0.1"),
    (lambda: ictd.Model.td0(4).values(PHI, REWARD, gamma=1.5), "gamma: 1.5; expected a number in"),
    (lambda: ictd.Model.lstd().value_function(PHI, REWARD, gamma=1.0).weights, "gamma: 1; expected a number in"),
    (lambda: ictd.Model.universal().values(PHI, REWARD, query=PHI[0]), r"query: shape \(4,\); .*query\[None\] for one state"),
    (lambda: ictd.Model.td0(3).values(PHI, REWARD), "phi: 4 features; expected 3"),
    (lambda: ictd.Model.universal().values(np.ones((3, 70)), REWARD), "phi: 70 features; expected 1 to 64"),
    (lambda: ictd.Context(0), "d: 0; expected 1 to 64"),
    (lambda: ictd.Context(3, ictd.Model.td0(4)), "d: 3; expected 4"),
    (lambda: ictd.Context(3, retention=1.5), "retention"),
    (lambda: ictd.Context(3, ictd.Model.online_td(), retention=0.5), "retention: only a model that reads a context has one"),
    (lambda: ictd.Context(3).observe([1.0], 0.0, [1.0] * 3), r"phi: shape \(1,\); expected \(3,\)"),
    (lambda: ictd.Context(3).value_function().weights, "empty"),
    (lambda: ictd.Task("chain"), "kind: \"chain\"; expected one of boyan"),
    (lambda: ictd.Task(states=65), "states"),
    (lambda: ictd.Task(gamma=1.5), "gamma: 1.5"),
]


REFUSED += [
    (lambda x=x: ictd.Model.universal().values(x, REWARD), f"phi: .*{what}")
    for x, what in [
        (PHI + 1j, "complex numbers"),
        (np.full((3, 4), np.datetime64("2020-01-01")), "dates or times"),
        (np.full((3, 4), "1.5"), "text"),
        (np.array([["1.5"] * 4] * 3, dtype=object), "text"),
        (np.ma.masked_array(PHI, PHI == 1), "masked entries"),
        (np.full((3, 4), 2**53 + 1), "less than 2\\^53"),
        ([[2**70 + 1] * 4] * 3, "integers of 2\\^53 or more"),
        (np.ones(3), "reshape"),
        ([[1.0], [1.0, 2.0]], "expected numbers"),
    ]
]
REFUSED += [
    (lambda: ictd.Model.universal().values(PHI, np.ones((2, 2))), r"reward: shape \(2, 2\); expected \(n,\)"),
    (lambda: ictd.Model.universal().values(PHI, REWARD, query=PHI * np.inf), "query: inf at 0 is NaN or infinite"),
    (lambda: ictd.Context(4).values([np.inf] * 4), "query: inf at 0"),
    (lambda: ictd.Model.universal().values(PHI, REWARD, terminal=[0, 2]), "terminal: 2; expected true or false"),
    (lambda: ictd.Task().sample(10**9), "n: 1000000000; expected at most"),
    (lambda: ictd.Context(1).observe([1.0], "1.5", [1.0]), "reward: text"),
]


@pytest.mark.parametrize("call, message", REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_wrong_is_a_value_error_that_names_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_wrong_type_names_the_argument():
    with pytest.raises(ValueError, match="phi"):
        ictd.Model.universal().values("abc", [1.0])
    with pytest.raises(TypeError, match="retention"):
        ictd.Context(3, retention="all")


def test_the_universal_model_has_no_layers():
    assert ictd.Model.universal().layers is None and ictd.Model.td0(4).layers == 15


def test_files_that_are_not_there_or_no_models(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.safetensors"):
        ictd.Model.load(tmp_path / "nothing.safetensors")
    (tmp_path / "text.safetensors").write_text("no model")
    with pytest.raises(ValueError, match="text.safetensors"):
        ictd.Model.load(tmp_path / "text.safetensors")
    with pytest.raises(ValueError, match="a folder with parameters.safetensors"):
        ictd.Model.load(tmp_path)


@pytest.mark.parametrize("layers", [1, 2])
def test_parameters_of_other_tools_are_one_model_as_arrays_npz_and_safetensors(tmp_path, layers):
    rng = np.random.default_rng(layers)
    p, q = rng.normal(scale=0.1, size=(2, layers, 5, 5)).astype(np.float32)
    phi, reward = rng.uniform(-1, 1, (9, 2)), rng.uniform(-1, 1, 8)
    np.savez(tmp_path / "model.npz", P=p, Q=q)
    names = ["attn"] if layers == 1 else [f"layers.{layer}" for layer in range(layers)]
    tensors = {f"{name}.{matrix}": m[i] for i, name in enumerate(names) for matrix, m in (("P", p), ("Q", q))}
    info = {name: {"dtype": "F32", "shape": [5, 5], "data_offsets": [100 * i, 100 * i + 100]} for i, name in enumerate(tensors)}
    header = json.dumps(info).encode()
    content = b"".join(m.tobytes() for m in tensors.values())
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + content)
    expected = ictd.Model.linear(p, q, gamma=0.8, layers=2).values(phi, reward)
    for name in ["model.npz", "model.safetensors"]:
        model = ictd.Model.load(tmp_path / name, gamma=0.8, layers=2, attention="linear")
        assert np.array_equal(model.values(phi, reward), expected), name


def test_importance_weights_give_the_values_of_another_policy(program, tmp_path):
    # A coin was tossed for the reward; the policy asked about takes the 1 with probability 0.9.
    rng = np.random.default_rng(1)
    reward = rng.integers(2, size=400).astype(float)
    rho, ones = np.where(reward == 1, 0.9, 0.1) / 0.5, np.ones((401, 1))
    model = ictd.Model.lstd(lambda_=0.0, ridge=1e-6, gamma=0.5)
    expected = (rho * reward).mean() / (rho.mean() * 0.5)
    assert abs(model.value_function(ones, reward, rho=rho).weights[0] - expected) < 1e-4
    for model in [ictd.Model.universal(), ictd.Model.td0(1), ictd.Model.lstd()]:
        context = ictd.Context(1, model)
        for r, weight in zip(reward, rho):
            context.observe([1.0], r, [1.0], rho=weight)
        assert context.value_function().weights.tobytes() == model.value_function(ones, reward, rho=rho).weights.tobytes()
        assert model.value_function(ones, reward, rho=np.ones(400)).weights.tobytes() == model.value_function(ones, reward).weights.tobytes()
    rows = "\n".join(f"1,{r!r},{weight!r}" for r, weight in zip(reward.tolist(), rho.tolist()))
    (tmp_path / "data.csv").write_text(f"phi_0,reward,rho\n{rows}\n1,,\n")
    arguments = ["evaluate", "--data", tmp_path / "data.csv", "--model", "universal", "--json", "--out", tmp_path / "out"]
    found = json.loads(subprocess.run([program, *arguments], capture_output=True, check=True).stdout)
    universal = ictd.Model.universal().value_function(ones, reward, rho=rho).weights
    assert universal.tolist() == found["estimators"][0]["weights"]
    for model in [ictd.Model.online_td(), ictd.Model.recursive_lstd()]:
        with pytest.raises(ValueError, match="rho is out of range: expected 1"):
            model.value_function(ones, reward, rho=rho).weights
    with pytest.raises(ValueError, match="rho is out of range: expected a finite number, at least 0"):
        ictd.Context(1).observe([1.0], 1.0, [1.0], rho=-1.0)
    with pytest.raises(ValueError, match="rho: 3 weights; expected 400"):
        ictd.Model.universal().value_function(ones, reward, rho=[1.0] * 3)


def several(count, n, d):
    """Features, (count, n + 1, d), rewards, marks and weights, (count, n), of several contexts."""
    rng = np.random.default_rng(count)
    phi, reward = rng.normal(size=(count, n + 1, d)), rng.normal(size=(count, n))
    return phi, reward, rng.random((count, n)) < 0.1, rng.uniform(0.5, 2.0, (count, n))


@pytest.mark.parametrize("d", (3, 9))
def test_several_contexts_have_the_values_of_each_alone(d):
    phi, reward, terminal, rho = several(7, 20, d)
    of_all = np.random.default_rng(1).normal(size=(5, d))
    weighted = [ictd.Model.universal(), ictd.Model.td0(d), ictd.Model.lstd()]
    for model in [*weighted, ictd.Model.online_td(), ictd.Model.recursive_lstd()]:
        marks = [{}, {"terminal": terminal}, {"end": terminal}] + [{"rho": rho}] * (model in weighted)
        for marked in marks:
            of = [{name: values[i] for name, values in marked.items()} for i in range(7)]
            alone = [model.values(phi[i], reward[i], gamma=0.5, **of[i]) for i in range(7)]
            together = model.values(phi, reward, gamma=0.5, **marked)
            assert together.shape == (7, 21) and together.tolist() == np.stack(alone).tolist()
        alone = [model.values(phi[i, :-1], reward[i], phi[i, 1:], query=of_all) for i in range(7)]
        assert model.values(phi[:, :-1], reward, phi[:, 1:], of_all).tolist() == np.stack(alone).tolist()
        alone = [model.values(phi[i], reward[i], query=phi[i, :2]) for i in range(7)]
        assert model.values(phi, reward, query=phi[:, :2]).tolist() == np.stack(alone).tolist()
        lengths = [20, 5, 11]
        cut, rewards = [phi[i, : n + 1] for i, n in enumerate(lengths)], [reward[i, :n] for i, n in enumerate(lengths)]
        marks = [terminal[i, :n] for i, n in enumerate(lengths)]
        for found, one, r, mark in zip(model.values(cut, rewards, terminal=marks), cut, rewards, marks):
            assert found.tolist() == model.values(one, r, terminal=mark).tolist()
    assert ictd.Model.td0(d).values(phi[:0], reward[:0]).shape == (0, 21)


def test_errors_of_several_contexts_name_the_argument_and_the_context():
    phi, reward, terminal, rho = several(3, 20, 2)
    model = ictd.Model.td0(2, alpha=1e300)
    for phi_, reward_, given, said in [
        (phi, reward[0], {}, "reward: shape (20,); expected (3, n)"),
        (phi, reward[:2], {}, "reward: shape (2, 20); expected (3, n)"),
        (phi, reward[:, :4], {}, "phi: shape (3, 21, 2) with 4 rewards; expected (3, 5, d)"),
        (phi, reward, {"terminal": terminal[0]}, "terminal: shape (20,); expected (3, 20)"),
        (phi, reward, {"rho": rho[:2]}, "rho: shape (2, 20); expected (3, 20)"),
        (phi, reward, {"query": phi[:2]}, "query: shape (2, 21, 2); expected (m, 2) or (3, m, 2)"),
        (phi, reward, {}, "context 0: "),
        (list(phi), list(reward), {}, "context 0: "),
    ]:
        with pytest.raises(ValueError) as refused:
            model.values(phi_, reward_, **given)
        assert str(refused.value).startswith(said), refused.value
    with pytest.raises(ValueError, match=r"phi: shape \(3, 21, 2\)"):
        model.value_function(phi, reward)


def test_a_context_runs_through_transitions_as_it_observes_them():
    phi, reward, terminal, rho = (of[0] for of in several(1, 20, 3))
    for model in (ictd.Model.universal(), ictd.Model.td_lambda(3), ictd.Model.online_td()):
        weights = np.ones(20) if model.layers is None and model.d is None and "online" in repr(model) else rho
        one, many = ictd.Context(3, model), ictd.Context(3, model)
        for t in range(20):
            one.observe(phi[t], reward[t], None if terminal[t] else phi[t + 1], weights[t])
        many.run(phi[:12], reward[:11], terminal=terminal[:11], rho=weights[:11])
        many.run(phi[11:-1], reward[11:], phi[12:], terminal[11:], rho=weights[11:])
        assert len(many) == 20 and pickle.dumps(one) == pickle.dumps(many)
    with pytest.raises(ValueError, match="phi: 2 features; expected 3"):
        many.run(phi[:, :2], reward)


def test_a_call_leaves_nothing_behind_for_the_next():
    model = ictd.Model.universal()
    phi, reward = trajectory()
    expected = model.values(phi, reward).tobytes()
    for of, d in [(phi, 4), (phi[:, :2], 2), (phi, 4)]:
        model.values(of, -reward, gamma=0.5)
        model.values(of, 2 * reward)
        with pytest.raises(ValueError):
            model.values(of * 1e200, reward)
    assert model.values(phi, reward).tobytes() == expected


def test_integers_of_any_size_are_refused_by_name():
    for size in (2**64, 2**127, 2**200, -1, -(2**200)):
        for name, make in [
            ("d", lambda: ictd.Model.td0(size)),
            ("layers", lambda: ictd.Model.td0(4, layers=size)),
            ("iterations", lambda: ictd.Model.batch_td(iterations=size)),
            ("d", lambda: ictd.Context(size)),
            ("signals", lambda: ictd.Predictor([1], signals=size)),
            ("seed", lambda: ictd.Task(seed=size)),
            ("states", lambda: ictd.Task(states=size)),
            ("n", lambda: ictd.Task().sample(size)),
            ("seed", lambda: ictd.tasks.batch(size, 0)),
            ("start", lambda: ictd.tasks.batch(0, size)),
            ("seeds", lambda: ictd.train({"tasks": 2}, [size])),
            ("threads", lambda: ictd.train({"tasks": 2}, threads=size)),
            ("contexts", lambda: ictd.judge(ictd.Model.universal(), contexts=size)),
        ]:
            with pytest.raises(ValueError, match=f"^{name}: "):
                make()
