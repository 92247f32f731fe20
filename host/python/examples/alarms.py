"""Judges the predictor's surprise beside other scores of how unusual a sample is, and prints the tables of the guide's page `signals`, and what long horizons tell:

    pip install ./host/python river==0.26.1 krcf==0.4.0 && pip install --no-deps aeon==1.6.0 sktime==1.2.0
    python host/python/examples/alarms.py

Each score sees every sample once, in order, before the next one, and nothing is fitted beforehand. The first 200 samples are not
judged. A package that is not installed is left out, and so are the events that it brings.
"""

import concurrent.futures
import importlib.util
import time
from pathlib import Path

import ictd
import numpy as np

GAIT = Path(__file__).parents[2] / "assets" / "signals" / "gait.csv"
FAULTS = ["stuck", "noise", "drift", "gain", "glitches", "frequency"]
UNJUDGED, LENGTH, LAGS, SEEDS = 200, 60, 8, 5


def lagged(x):
    """Yields the last samples at each time, as a vector of LAGS; the first sample stands for those before it."""
    return np.lib.stride_tricks.sliding_window_view(np.r_[np.full(LAGS - 1, x[0]), x], LAGS)


def predictor(x, _seed):
    observe = ictd.Predictor(horizons=[10]).observe
    return np.array([observe(sample).surprise[0] for sample in x])


def z_score(x, _seed):
    """The distance from an exponential average, over an exponential deviation."""
    mean, variance, scores = x[0], 0.0, []
    for n, sample in enumerate(x, 1):
        error = sample - mean
        scores.append(abs(error) / max(variance**0.5, 1e-9))
        mean += max(0.05, 1 / n) * error
        variance += max(0.005, 1 / n) * (error**2 - variance)
    return np.array(scores)


def ar_residual(x, _seed):
    """The z-score of an autoregression's errors: recursive least squares, retention 0.998, ridge 0.01, scaled by the unjudged samples."""
    weights, inverse, variance, scores = np.zeros(LAGS + 1), np.eye(LAGS + 1) / 0.01, 0.0, []
    x = (x - x[:UNJUDGED].mean()) / x[:UNJUDGED].std()
    for n, (lags, sample) in enumerate(zip(lagged(x), x[1:]), 1):
        features = np.r_[lags, 1.0]
        error = sample - weights @ features
        scores.append(abs(error) / max(variance**0.5, 1e-9))
        variance += max(0.005, 1 / n) * (error**2 - variance)
        gain = inverse @ features / (0.998 + features @ inverse @ features)
        weights = weights + gain * error
        inverse = (inverse - np.outer(gain, features @ inverse)) / 0.998
    return np.array([0.0, *scores])


def random_cut_forest(x, seed):
    from krcf import RandomCutForest

    forest = RandomCutForest({"dimensions": LAGS, "shingle_size": 1, "random_seed": seed})
    scores = []
    for point in lagged(x):
        scores.append(forest.score(point))
        forest.update(point)
    return np.array(scores)


def half_space_trees(x, seed):
    from river import anomaly, preprocessing

    scale, trees, scores = preprocessing.MinMaxScaler(), anomaly.HalfSpaceTrees(seed=seed), []
    for point in lagged(x):
        features = dict(enumerate(point.tolist()))
        scale.learn_one(features)
        features = scale.transform_one(features)
        scores.append(trees.score_one(features))
        trees.learn_one(features)
    return np.array(scores)


# The score, the package that it needs, and how many seeds it is tried with.
SCORES = [
    (predictor, "ictd", 1),
    (z_score, "numpy", 1),
    (ar_residual, "numpy", 1),
    (random_cut_forest, "krcf", SEEDS),
    (half_space_trees, "river", SEEDS),
]


def clean_recordings(n=4000):
    """Returns signals by their names: a walking person, and processes."""
    rng = np.random.default_rng(7)
    t, noise = np.arange(n), rng.normal(size=(8, n))
    ar, slow, level = np.zeros(n), np.zeros(n), 0.0
    steps = np.zeros(n)
    for i in range(2, n):
        ar[i] = 1.6 * ar[i - 1] - 0.8 * ar[i - 2] + noise[0, i]
        slow[i] = 0.95 * slow[i - 1] + 0.3 * noise[1, i]
        level = 3 * rng.normal() if rng.random() < 0.005 else level
        steps[i] = level + 0.3 * noise[2, i]
    gait = np.genfromtxt(GAIT, delimiter=",", skip_header=1)[:n].T
    return dict(zip(["ankle", "leg", "trunk"], gait)) | {
        "AR(2)": 20 + ar,
        "triangle": 5 * abs(t % 50 / 25 - 1) + 0.3 * noise[3],
        "walk": 100 + noise[4].cumsum(),
        "steps": steps,
        "noise": 3 + noise[5],
        "sine": 20 + 3 * np.sin(0.1 * t) + 0.2 * noise[6],
        "day": 15 + 5 * np.sin(2 * np.pi * t / 288) + slow,
    }


def with_fault(x, fault, begins=range(600, 3850, 800)):
    """Returns the signal with faults of 60 samples, which samples are faulty, and where events begin and end."""
    noise, y, faulty, events = np.random.default_rng(1).normal(size=len(x)), x.copy(), np.zeros(len(x), bool), []
    for begin in begins:
        i = np.arange(7, LENGTH, 15) if fault == "glitches" else np.arange(LENGTH)
        at = begin + i
        faulty[at] = True
        events.append((at[0], begin + LENGTH))
        y[at] = {
            "stuck": x[begin] + 0 * i,
            "noise": x[at] + 0.5 * x.std() * noise[at],
            "drift": x[at] + 1.5 * x.std() * i / LENGTH,
            "gain": x.mean() + 1.6 * (x[at] - x.mean()),
            "glitches": x[at] + 5 * x.std() * np.sign(noise[at]),
            "frequency": x[begin + 2 * i],
        }[fault]
    return y, faulty, events


def installed(package, name):
    """Returns where a package lies; if it is not installed, says what is left out."""
    if (found := importlib.util.find_spec(package)) is None:
        print(f"{package} is not installed: {name} is left out")
    return found


def recordings_with_events():
    """Yields a name, a signal and its labels of each recording whose package is installed; the packages are not imported."""
    for name, package, path, column in [
        ("heart", "sktime", "datasets/data/mitdb/mitdb.csv", 0),
        ("pressure", "aeon", "datasets/data/KDD-TSAD_135/135_UCR_Anomaly_InternalBleeding16_TEST.csv", 1),
        ("water", "river", "datasets/water-flow.csv", 1),
    ]:
        if not (found := installed(package, name)):
            continue
        table = np.genfromtxt(Path(found.origin).parent / path, delimiter=",", skip_header=1)
        x = table[:, column]
        # The package's text names three low values and a peak, which are all that is further than 5 l/s from the median.
        yield name, x, abs(x - np.median(x)) > 5 if name == "water" else table[:, column + 1] > 0


def events_of(labels):
    """Returns the begin and the end of each run of labelled samples."""
    edges = np.flatnonzero(np.diff(np.r_[0, labels.astype(int), 0]))
    return [(begin, end) for begin, end in edges.reshape(-1, 2) if begin >= UNJUDGED]


def area(scores, labels):
    """Returns the area under the ROC curve: the chance that a labelled sample scores above another; ties count half."""
    clean = np.sort(scores[UNJUDGED:][~labels[UNJUDGED:]])
    found = scores[UNJUDGED:][labels[UNJUDGED:]]
    below, up_to = np.searchsorted(clean, found, "left"), np.searchsorted(clean, found, "right")
    return (below + up_to).mean() / 2 / len(clean)


def delays(scores, events, clean_scores):
    """Returns samples from each event's begin to its first alarm, or infinity, at one false alarm in 1,000 clean samples."""
    alarms = scores > np.quantile(clean_scores, 0.999, method="lower")
    return [alarms[begin:end].argmax() if alarms[begin:end].any() else np.inf for begin, end in events]


def judge(score, seed, recordings, labelled):
    """Returns areas by fault, delays (of a fault alone, and of four after others), both of each labelled recording, and seconds a sample."""
    areas, late, real, begun, samples = {fault: [] for fault in FAULTS}, [], {}, time.process_time(), 0
    for x in recordings.values():
        clean = score(x, seed)[UNJUDGED:]
        for fault in FAULTS:
            y, faulty, events = with_fault(x, fault)
            scores = score(y, seed)
            areas[fault].append(area(scores, faulty))
            once, _, alone = with_fault(x, fault, [3000])
            late.append(delays(score(once, seed), alone, clean) + delays(scores, events[1:], clean))
            samples += len(x) * 13 / 6
    seconds = (time.process_time() - begun) / samples
    for name, x, labels in labelled:
        scores = score(x, seed)
        real[name] = area(scores, labels), delays(scores, events_of(labels), scores[UNJUDGED:][~labels[UNJUDGED:]])
    return {fault: np.mean(a) for fault, a in areas.items()}, np.array(late), real, seconds


def long_horizon(x, horizon=300):
    """Returns the error of what is predicted, over the variance of what followed, and the band's width over that of nine in ten of it."""
    gamma, followed = 1 - 1 / horizon, np.empty(len(x))
    mean = x[-1]
    for t in reversed(range(len(x))):
        followed[t], mean = mean, (1 - gamma) * x[t] + gamma * mean
    seen = ictd.Predictor(horizons=[horizon]).run(x)
    value, low, high = (numbers[: -3 * horizon, 0, 0] for numbers in (seen.value, seen.low, seen.high))
    ends = np.isfinite(high)
    truth, deviation = followed[: len(ends)][ends], followed[: len(ends)][ends].std()
    return ((value[ends] - truth) ** 2).mean() / deviation**2, (high - low)[ends].mean() / (2 * 1.645 * deviation)


def walker():
    """Returns the nine signals of a walker who at times cannot walk on, if they are installed."""
    if not (found := installed("aeon", "walker")):
        return []
    path = Path(found.origin).parent / "datasets/data/Daphnet_S06R02E0/S06R02E0.csv"
    return list(np.genfromtxt(path, delimiter=",", skip_header=1)[:, 1:10].T)


def by_kind(recordings):
    """Prints the share of faults in which the surprise passes 0.999, alone and after others, and of clean samples."""
    clean = [ictd.Predictor(horizons=[10]).run(x).surprise[UNJUDGED:, 0] > 0.999 for x in recordings.values()]
    print(f"at 0.999, with {1000 * np.mean(clean):.1f} alarms in 1,000 clean samples: faults alone, and after others")
    for fault in FAULTS:
        found = [[], []]
        for x in recordings.values():
            for kind, begins in enumerate([[3000], range(600, 3850, 800)]):
                y, _, events = with_fault(x, fault, begins)
                surprise = ictd.Predictor(horizons=[10]).run(y).surprise[:, 0]
                found[kind] += [(surprise[a:b] > 0.999).any() for a, b in events[kind:]]
        print(f"{fault}: {np.mean(found[0]):.2f}, {np.mean(found[1]):.2f}")


def spread(values, digits=2):
    """Writes a mean, and a standard deviation if there are several values."""
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def delayed(late):
    """Writes which share of events gave an alarm, and the median delay of those."""
    found = np.isfinite(late)
    return f"{100 * found.mean():.0f} %" + (f", {np.median(late[found]):.0f}" if found.any() else "")


def main():
    labelled, recordings = list(recordings_with_events()), clean_recordings()
    scores = [score for score in SCORES if installed(score[1], score[0].__name__)]
    tables = [["", *FAULTS, "mean", "alone", "after others", "µs a sample"], ["", *(name for name, _, _ in labelled)]]
    rows = [[["---"] * len(table)] for table in tables]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        tried = [[pool.submit(judge, score, seed, recordings, labelled) for seed in range(n)] for score, _, n in scores]
        for (score, _, _), tries in zip(scores, tried):
            areas, late, real, seconds = zip(*(t.result() for t in tries))
            late, name = np.concatenate(late), score.__name__.replace("_", " ")
            by_fault = [f"{np.mean([a[fault] for a in areas]):.2f}" for fault in FAULTS]
            mean = spread([np.mean(list(a.values())) for a in areas], 3)
            rows[0].append([name, *by_fault, mean, delayed(late[:, 0]), delayed(late[:, 1:]), f"{1e6 * np.mean(seconds):.0f}"])
            of = [(spread([r[n][0] for r in real]), np.concatenate([r[n][1] for r in real])) for n in real[0]]
            rows[1].append([name, *(f"{a}; {delayed(late)}" for a, late in of)])
    for head, body in zip(tables, rows):
        print("\n".join(f"| {' | '.join(row)} |" for row in [head, *body]), end="\n\n")
    by_kind(recordings)
    print("a horizon of 300: the error over the variance of what followed, and how wide the band is")
    named = [(name, x) for name, x, _ in labelled if len(x) > 5000] + [("walker", x) for x in walker()]
    for name, x in named:
        print(f"{name}: {' '.join(f'{number:.2f}' for number in long_horizon(x))}")


if __name__ == "__main__":
    main()
