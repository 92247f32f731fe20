"""The predictor: the chip's bits, its state, its errors."""

import copy
import pickle
import struct
import threading
import zlib
from pathlib import Path

import ictd
import numpy as np
import pytest

DIGESTS = Path(__file__).parents[3] / "core" / "c" / "digests.txt"


def walks(n=300, signals=2, seed=1):
    return np.cumsum(np.random.default_rng(seed).normal(size=(n, signals)), axis=0).astype(np.float32)


def arrays(seen):
    return [seen.value, seen.low, seen.high, seen.known, seen.depth, seen.surprise, seen.recent, seen.status]


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

    predictors = [ictd.Predictor([1, 5, 40], limits=limits, dtype="float32") for limits in (None, (-100, 100))]
    for t in range(500):
        x = [t % 20 + sensor(), 20 + sensor()]
        if t % 7 == 3:
            x[1] = None
        if t == 200:
            x[1] = 65535.0
        for predictor, sample in zip(predictors, x):
            seen = predictor.observe(sample)
            for h in range(3):
                for array in (seen.value, seen.low, seen.high):
                    add(array[0, h])
            for array in (seen.depth, seen.surprise, seen.recent, seen.status):
                add(array[0])
        if t == 300:
            predictors[0] = ictd.Predictor.from_bytes(predictors[0].to_bytes())
    expected = dict(line.split() for line in DIGESTS.read_text().splitlines())
    assert f"{digest:08x}" == expected["predictor"]


@pytest.mark.parametrize("signals", [1, 2, 5])
def test_an_array_and_a_stream_give_the_same_bits(signals):
    x = walks(signals=signals)
    x[50], x[70:80, 0] = 1e30, np.nan
    seen = ictd.Predictor([5, 10, 40], signals=signals).run(x)
    assert [a.shape for a in arrays(seen)] == [(300, signals, 3)] * 4 + [(300, signals)] * 4
    assert [a.dtype for a in arrays(seen)] == [np.float64] * 3 + [np.bool_] + [np.float32] * 3 + [np.uint8]
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


def test_several_signals_are_predictors_side_by_side():
    x = walks()
    together = arrays(ictd.Predictor([5, 10], signals=2).run(x))
    alone = [arrays(ictd.Predictor([5, 10]).run(x[:, s])) for s in range(2)]
    assert [a.tobytes() for a in together] == [np.concatenate(part, 1).tobytes() for part in zip(*alone)]


@pytest.mark.parametrize("level", [1e5, 8388608.0, 1e9])
def test_a_level_changes_nothing(level):
    x = np.round(4 * np.random.default_rng(3).normal(size=2000))
    at_zero, seen = (ictd.Predictor([40]).run(x + of) for of in (0.0, level))
    np.testing.assert_allclose(seen.value[100:] - level, at_zero.value[100:], atol=1e-3)
    np.testing.assert_allclose((seen.high - seen.low)[500:], (at_zero.high - at_zero.low)[500:], rtol=1e-2)


def test_an_event_is_an_onset_once_and_limits_hold_back():
    x = np.random.default_rng(4).normal(size=2000)
    x[1500:1560] = x[1500]
    assert ictd.Predictor([10]).run(x).onset(0.999)[1500:1600].sum() == 1
    x[700] = 4.5
    seen = ictd.Predictor([10], limits=(-4.0, 4.0)).run(x)
    assert seen.status[700, 0] == 2 and seen.status[699, 0] == 0


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


def stored(*horizons):
    """The bytes of a predictor of C with these horizons, the last repeated."""
    data = ictd.Predictor([9], dtype="float32").to_bytes()
    data = data[:12] + struct.pack("<4f", *(horizons + horizons[-1:] * 3)[:4]) + data[28:-4]
    return data + struct.pack("<I", zlib.crc32(data))


def test_only_the_last_horizon_may_be_repeated():
    assert ictd.Predictor.from_bytes(stored(5, 50) + stored(5, 50)).horizons == [5.0, 50.0]


REFUSED = [
    (lambda: ictd.Predictor([]), r"horizons: \[\]; expected 1 to 4 different numbers"),
    (lambda: ictd.Predictor([1, 2, 3, 4, 5]), "horizons: .* expected 1 to 4"),
    (lambda: ictd.Predictor([0.5]), "horizons: .* from 1 to 1,000,000"),
    (lambda: ictd.Predictor([float("nan")]), "horizons"),
    (lambda: ictd.Predictor([5, 5]), "horizons: .* different"),
    (lambda: ictd.Predictor(10), r"horizons: shape \(\); expected 1 to 4 numbers"),
    (lambda: ictd.Predictor([5], signals=-1), "signals: -1; expected an integer"),
    (lambda: ictd.Predictor([5], signals=0), "signals: 0; expected 1 to 1024"),
    (lambda: ictd.Predictor([5], limits=(1, 1)), r"limits: .* expected \(low, high\)"),
    (lambda: ictd.Predictor([5], dtype="int8"), "dtype: .* expected float64 or float32"),
    (lambda: ictd.Predictor([5], signals=2).observe(1.0), r"x: shape \(\); expected \(2,\)"),
    (lambda: ictd.Predictor([5]).observe([1.0, 2.0]), r"x: shape \(2,\); expected a number or \(1,\)"),
    (lambda: ictd.Predictor([5], signals=2).run([1.0, 2.0]), r"x: shape \(2,\); expected \(T, 2\)"),
    (lambda: ictd.Predictor([5]).run(1.0), r"x: shape \(\); expected \(T,\) or \(T, 1\)"),
    (lambda: ictd.Predictor([5]).observe("abc"), "x: text"),
    (lambda: ictd.Predictor([5]).observe(1j), "x: complex"),
    (lambda: ictd.Predictor([5]).run(np.arange(3).astype("datetime64[s]")), "x: dates"),
    (lambda: ictd.Predictor.from_bytes(b"no predictor"), "data: "),
    (lambda: ictd.Predictor.from_bytes(ictd.Predictor([5]).to_bytes()[:-1]), "data: "),
    (lambda: ictd.Predictor.from_bytes(stored(5, 5, 50, 50)), r"data: horizons \[5.0, 5.0, 50.0\]; expected different ones"),
    (lambda: ictd.Predictor.from_bytes(stored(5, 50, 5, 50)), r"data: horizons \[5.0, 50.0, 5.0, 50.0\]"),
    (lambda: ictd.Predictor.from_bytes(stored(5) + stored(50)), "data: predictors of several horizons or precisions"),
    (lambda: ictd.Predictor.from_bytes(stored(5) + ictd.Predictor([5]).to_bytes()), "data: predictors of several"),
]


@pytest.mark.parametrize("call, message", REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_wrong_is_a_value_error_that_names_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_masked_samples_are_missing():
    x = np.sin(np.arange(300) / 5)
    missing = np.arange(300) % 50 == 20
    masked = ictd.Predictor([5]).run(np.ma.masked_array(x, missing))
    marked = ictd.Predictor([5]).run(np.where(missing, np.nan, x))
    assert masked.value.tobytes() == marked.value.tobytes() and (masked.status[missing] == 1).all()
    assert ictd.Predictor([5]).observe(np.ma.masked).status[0] == ictd.Predictor([5]).observe(None).status[0] == 1


def test_predictions_pickle_and_copy():
    said = ictd.Predictor([5, 20]).run(np.sin(np.arange(100) / 5))
    for again in (pickle.loads(pickle.dumps(said)), copy.copy(said), copy.deepcopy(said)):
        for name in ("value", "low", "high", "known", "depth", "surprise", "recent", "status"):
            assert np.array_equal(getattr(again, name), getattr(said, name))


def test_threads_that_share_a_predictor_wait():
    predictor, failed = ictd.Predictor([5]), []

    def work():
        try:
            for _ in range(20):
                predictor.run(np.sin(np.arange(500) / 5))
        except Exception as e:
            failed.append(e)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
