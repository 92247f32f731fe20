"""The predictor: the chip's bits, its state, its errors."""

import copy
import pickle
import struct
from pathlib import Path

import ictd
import numpy as np
import pytest

DIGESTS = Path(__file__).parents[3] / "core" / "c" / "digests.txt"


def walks(n=300, signals=2, seed=1):
    return np.cumsum(np.random.default_rng(seed).normal(size=(n, signals)), axis=0).astype(np.float32)


def arrays(seen):
    return [seen.value, seen.low, seen.high, seen.surprise]


def bits(seen):
    return [array.tobytes() for array in arrays(seen)]


def test_the_bits_are_those_of_every_chip():
    """The samples and the digest of `core/c/every.c`, with a sleep."""
    state, digest = 1, 0

    def sensor():
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2**32
        return (state >> 24) / 128 - 1

    def add(number):
        nonlocal digest
        digest = ((digest << 8 | digest >> 24) & 0xFFFFFFFF) ^ struct.unpack("<I", struct.pack("<f", number))[0]

    predictor = ictd.Predictor(horizons=[1, 5, 40], signals=2)
    for t in range(500):
        x = [t % 20 + sensor(), 20 + sensor()]
        seen = predictor.observe([x[0], None] if t % 7 == 3 else x)
        for s in range(2):
            for h in range(3):
                for array in (seen.value, seen.low, seen.high):
                    add(array[s, h])
            add(seen.surprise[s])
        if t == 300:
            predictor = ictd.Predictor.from_bytes(predictor.to_bytes())
    expected = dict(line.split() for line in DIGESTS.read_text().splitlines())
    assert f"{digest:08x}" == expected["predictor"]


@pytest.mark.parametrize("signals", [1, 2, 3, 4])
def test_an_array_and_a_stream_give_the_same_bits(signals):
    x = walks(signals=signals)
    x[50], x[70:80, 0] = 1e30, np.nan
    seen = ictd.Predictor([5, 10, 40], signals=signals).run(x)
    assert [a.shape for a in arrays(seen)] == [(300, signals, 3)] * 3 + [(300, signals)]
    assert {a.dtype for a in arrays(seen)} == {np.dtype(np.float32)}
    stream = ictd.Predictor([5, 10, 40], signals=signals)
    rows = [stream.observe([None if np.isnan(number) else number for number in row]) for row in x.tolist()]
    assert bits(seen) == [np.array(part).tobytes() for part in zip(*map(arrays, rows))]
    assert seen.surprise[50].min() > 0.999


def test_one_signal_is_a_number_or_a_row():
    x = walks(signals=1)
    expected = bits(ictd.Predictor([10]).run(x))
    assert bits(ictd.Predictor([10.0]).run(x[:, 0].tolist())) == expected
    predictor = ictd.Predictor((10,))
    assert predictor.observe(None).value.shape == (1, 1)
    predictor.reset()
    rows = [predictor.observe(number) for number in x[:, 0]]
    assert bits(rows[-1]) == [a[-1].tobytes() for a in arrays(ictd.Predictor([10]).run(x))]


def test_a_band_holds_what_follows():
    t = np.arange(3000)
    x = np.sin(t / 5) + 0.1 * np.random.default_rng(2).normal(size=3000)
    seen = ictd.Predictor(horizons=[5]).run(x)
    followed = np.array([np.dot(0.2 * 0.8 ** np.arange(60), x[s + 1 : s + 61]) for s in range(1000, 2900)])
    value, low, high = (a[1000:2900, 0, 0] for a in arrays(seen)[:3])
    assert np.mean((value - followed) ** 2) < 0.1 * followed.var()
    assert 0.8 < np.mean((low <= followed) & (followed <= high)) < 0.97


@pytest.mark.parametrize("again", [lambda p: pickle.loads(pickle.dumps(p)), copy.deepcopy, lambda p: ictd.Predictor.from_bytes(p.to_bytes())])
def test_a_copy_goes_on_to_the_same_bits(again):
    x, predictor = walks(), ictd.Predictor([5, 40], signals=2)
    predictor.run(x[:200])
    other = again(predictor)
    assert (other.horizons, other.signals) == ([5.0, 40.0], 2)
    assert bits(other.run(x[200:])) == bits(predictor.run(x[200:]))


REFUSED = [
    (lambda: ictd.Predictor([]), r"horizons: \[\]; expected 1 to 4 different numbers"),
    (lambda: ictd.Predictor([1, 2, 3, 4, 5]), "horizons: .* expected 1 to 4"),
    (lambda: ictd.Predictor([0.5]), "horizons: .* from 1 to 1,000,000"),
    (lambda: ictd.Predictor([float("nan")]), "horizons"),
    (lambda: ictd.Predictor([5, 5]), "horizons: .* different"),
    (lambda: ictd.Predictor([5], signals=5), "signals: 5; expected 1 to 4"),
    (lambda: ictd.Predictor([5], signals=0), "signals: 0; expected 1 to 4"),
    (lambda: ictd.Predictor([5], signals=2).observe(1.0), r"x: shape \[\]; expected \(2,\)"),
    (lambda: ictd.Predictor([5]).observe([1.0, 2.0]), r"x: shape \[2\]; expected a number or \(1,\)"),
    (lambda: ictd.Predictor([5], signals=2).run([1.0, 2.0]), r"x: shape \[2\]; expected \(T, 2\)"),
    (lambda: ictd.Predictor([5]).run(1.0), r"x: shape \[\]; expected \(T,\) or \(T, 1\)"),
    (lambda: ictd.Predictor([5]).observe("abc"), "'x'"),
    (lambda: ictd.Predictor.from_bytes(b"no predictor"), "data: "),
    (lambda: ictd.Predictor.from_bytes(ictd.Predictor([5]).to_bytes()[:-1]), "data: "),
]


@pytest.mark.parametrize("call, message", REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_wrong_is_a_value_error_that_names_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
