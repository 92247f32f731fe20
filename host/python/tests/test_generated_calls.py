"""Calls with arguments that nobody means: each ends in an answer or in a documented error, never in a panic."""

import random

import ictd
import numpy as np
import pytest

DOCUMENTED = (ValueError, TypeError, OSError)

NUMBERS = [
    0, 1, 2, 3, 5, 8, 9, 64, 65, -1, 0.0, -0.0, 0.5, 0.9, 1.0, 1 - 1e-12, 1e-170, 1e-23, 1e23, 1e170, 1e308, 5e-324,
    float("nan"), float("inf"), -float("inf"), 2**31, 2**63, 2**64, 2**127, 2**128, -(2**63), 10**400,
    True, None, "", "1", b"1", (), [], [1], {}, object(), np.float32(1), np.int8(-1), np.array(1.0), np.nan,
]  # fmt: skip
SHAPES = [(), (0,), (1,), (2,), (4,), (0, 2), (1, 2), (3, 2), (4, 2), (3, 65), (2, 3, 2), (5, 5), (2, 5, 5), (3, 1)]
KINDS = ["boyan", "boyan-representable", "mdp", "loop", "", "Boyan", "a\0b"]


def array(draw):
    """An array of any shape and type, whose numbers are usual, or huge, tiny or not finite."""
    a = np.random.default_rng(draw.randrange(2**32)).normal(size=draw.choice(SHAPES))
    a = np.array(a * draw.choice([1, 1, 1e-170, 1e170, 1e30]))
    if a.size and draw.random() < 0.2:
        a.flat[draw.randrange(a.size)] = draw.choice([np.nan, np.inf, -np.inf, 0.0])
    with np.errstate(over="ignore"):
        kinds = [a, a, a, a.T, a.astype("f4"), a.tolist(), a > 0, a.astype(str), a.astype(complex), np.ma.array(a)]
    return draw.choice(kinds)


def argument(draw):
    return draw.choice([lambda: draw.choice(NUMBERS), lambda: array(draw), lambda: draw.choice(KINDS)])()


def usual(draw, n=3, d=2):
    """A context that can be computed, of which a call then spoils an argument or none."""
    return {"phi": np.ones((n + 1, d)) * draw.choice([1, 1e-170, 1e100]), "reward": np.arange(float(n))}


MODELS = [
    ictd.Model.universal, ictd.Model.td0, ictd.Model.td_lambda, ictd.Model.preconditioned_td, ictd.Model.online_td,
    ictd.Model.recursive_lstd, ictd.Model.batch_td, ictd.Model.lstd, ictd.Model.linear, ictd.Model.load,
]  # fmt: skip
USUAL = {"td0": (2,), "td_lambda": (2,), "preconditioned_td": (2, 0.2, 0.1), "linear": (np.zeros((5, 5)),) * 2}
SETTINGS = {
    "gamma": 0, "alpha": 0, "layers": 0, "d": 0, "lambda_": 0, "ridge": 0, "iterations": 0, "retention": 0, "trace_decay": 0,
    "seed": 0, "attention": 0,
}  # fmt: skip


def model(draw):
    make = draw.choice(MODELS)
    arguments = list(USUAL.get(make.__name__, ()))
    if make is ictd.Model.load or draw.random() < 0.2:
        arguments = [argument(draw) for _ in range(draw.randrange(4))]
    settings = {name: argument(draw) for name in SETTINGS if draw.random() < 0.05}
    return make(*arguments, **settings)


def values(draw):
    call = usual(draw)
    call |= {
        name: argument(draw)
        for name in ["phi", "reward", "phi_next", "query", "gamma", "terminal", "end", "rho"]
        if draw.random() < 0.15
    }
    return model(draw).values(**call)


def context(draw):
    try:
        stream = ictd.Context(draw.choice([1, 2, 9, argument(draw)]), draw.choice([None, model(draw)]))
    except DOCUMENTED:
        stream = ictd.Context(2)
    for _ in range(3):
        try:
            stream.observe(*draw.choice([(np.ones(2), 1.0, np.ones(2)), tuple(argument(draw) for _ in range(3))]))
        except DOCUMENTED:
            stream.end_episode()
    return stream.copy().values(draw.choice([np.ones(2), argument(draw)]))


def predictor(draw):
    try:
        predictor = ictd.Predictor(argument(draw), signals=argument(draw), limits=argument(draw))
    except DOCUMENTED:
        predictor = ictd.Predictor([10, 20])
    predictor.run(draw.choice([np.arange(9.0), argument(draw)])).onset(draw.choice([0.5, argument(draw)]))
    return ictd.Predictor.from_bytes(predictor.to_bytes())


def task(draw):
    settings = ["kind", "seed", "d", "states", "gamma", "actions", "p", "reward", "phi", "p0", "terminal"]
    drawn = ictd.Task(**{name: argument(draw) for name in settings if draw.random() < 0.1})
    return drawn.sample(draw.choice([3, -1, 2.5, None, "3"]), seed=argument(draw))


@pytest.mark.parametrize("call", [model, values, context, predictor, task], ids=lambda call: call.__name__)
def test_a_generated_call_answers_or_names_its_error(call):
    ended = {True: 0, False: 0}
    for seed in range(1000):
        try:
            call(random.Random(f"{call.__name__} {seed}"))
            ended[True] += 1
        except DOCUMENTED as error:
            assert str(error) and len(str(error)) <= 300, error
            ended[False] += 1
    assert min(ended.values()) >= 5, ended
