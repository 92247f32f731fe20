"""One contract for all fronts: what cannot be computed is core's error here, too (`host/tests/it/outcomes.rs`)."""

import csv
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import ictd
import numpy as np
import pytest

with (Path(__file__).parents[2] / "tests/it/outcomes.csv").open() as file:
    CASES = list(csv.DictReader(file))

# The messages of core's errors, and those of arguments.
WORDS = {
    "diverge": "diverges",
    "NaN or infinite": "not finite",
    "is empty": "empty",
    "no unique solution": "singular",
    "expected": "out of range",
}


def model_of(algorithm, layers, gamma):
    layered = {"layers": layers, "gamma": gamma}
    return {
        "universal": lambda: ictd.Model.universal(gamma=gamma),
        "td0": lambda: ictd.Model.td0(2, **layered),
        "td_lambda": lambda: ictd.Model.td_lambda(2, trace_decay=0.5, **layered),
        "preconditioned_td": lambda: ictd.Model.preconditioned_td(2, alpha=0.2, beta=0.1, **layered),
        "batch_td": lambda: ictd.Model.batch_td(iterations=layers, gamma=gamma),
        "lstd": lambda: ictd.Model.lstd(gamma=gamma),
        "recursive_lstd": lambda: ictd.Model.recursive_lstd(gamma=gamma),
        "online_td": lambda: ictd.Model.online_td(gamma=gamma),
    }[algorithm]()


def features(i, level, scale):
    return [scale * (level + ((7 * i + 3 * j + i * i * (j + 1)) % 11 - 5.0) / 5.0) for j in (0, 1)]


def outcomes(case):
    """What a stream and what arrays give, which must be the same."""
    n, level, scale = int(case["n"]), float(case["level"]), float(case["scale"])
    phi = np.array([features(i, level, scale) for i in range(n + 1)])
    reward = np.array([i % 3 - 0.5 for i in range(n)])

    def stream():
        context = ictd.Context(2, model_of(case["algorithm"], int(case["layers"]), float(case["gamma"])))
        for i in range(n):
            context.observe(phi[i], reward[i], phi[i + 1])
        return context.values(phi)

    def arrays():
        return model_of(case["algorithm"], int(case["layers"]), float(case["gamma"])).values(phi, reward)

    for compute in stream, arrays:
        try:
            assert np.isfinite(compute()).all()
            yield "a value"
        except ValueError as error:
            yield next((said for word, said in WORDS.items() if word in str(error)), str(error))


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case.values()))
def test_each_outcome_is_cores(case):
    assert list(outcomes(case)) == [case["outcome"]] * 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e-15, 1e-6, 1.0, 1e6, 1e10, 1e12, 1e15, 1e30])
def test_the_predictor_knows_only_what_is_in_its_range(scale, dtype):
    i = np.arange(400)
    seen = ictd.Predictor([10], dtype=dtype).run(scale * (i * i % 17 - 8.0 + i % 2))
    assert seen.known.any() == (1e-15 <= scale <= 1e10)
    low, value, high = (a[seen.known] for a in (seen.low, seen.value, seen.high))
    assert np.isfinite([low, value, high]).all() and (low <= value).all() and (value <= high).all()


@pytest.mark.parametrize("gamma", [0.9, 1 - 1e-7, 1 - 1e-8, 1 - 1e-12])
def test_a_model_of_any_discount_is_pickled(gamma):
    for algorithm in {case["algorithm"] for case in CASES}:
        model = model_of(algorithm, 15, gamma)
        context = ictd.Context(2, model)
        context.observe([1.0, 0.5], 1.0, [0.5, 1.0])
        assert pickle.loads(pickle.dumps(model)).gamma == gamma
        assert pickle.loads(pickle.dumps(context)).value_function().weights.tobytes() == context.value_function().weights.tobytes()


def test_every_damaged_byte_of_a_pickled_model_is_found():
    name, (restore, arguments) = "td0", ictd.Model.td0(2).__reduce__()[:2]
    assert restore(*arguments).gamma == 0.9 and arguments[0] == name
    state = arguments[-1]
    for at in range(len(state)):
        damaged = state[:at] + bytes([state[at] ^ 4]) + state[at + 1 :]
        with pytest.raises(ValueError, match="the model: its bytes are damaged"):
            restore(*arguments[:-1], damaged)


@pytest.mark.parametrize("argument", [-1, 0, 65_536, 10**9, 2**63, 2**64])
def test_a_number_of_layers_has_bounds(argument):
    for make in (
        lambda: ictd.Model.td0(2, layers=argument),
        lambda: ictd.Model.batch_td(iterations=argument),
        lambda: ictd.Model.preconditioned_td(2, 0.2, 0.1, layers=argument),
    ):
        with pytest.raises(ValueError, match="layers|iterations"):
            make()


LONG = {
    "values": "ictd.Model.universal().values(np.ones((400_000, 64)), np.ones(399_999))",
    "predictor": "ictd.Predictor([10]).run(np.sin(np.arange(1e7)))",
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")
@pytest.mark.parametrize("call", LONG.values(), ids=LONG)
def test_control_c_ends_a_long_call(call, tmp_path):
    program = textwrap.dedent(
        f"""
        import signal
        import numpy as np, ictd
        # What a shell starts in the background ignores the interrupt, and so do its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("ready", flush=True)
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    # Not from this folder, whose sources would be found in place of what was installed.
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.0)
    process.send_signal(signal.SIGINT)
    answer, _ = process.communicate(timeout=10)
    assert answer == "interrupted\n"
