"""Judges the predictor's alarms on archives that others made and labelled, from folders that you have:

    pip install ./host/python pandas
    python host/python/examples/calibration.py ucr FOLDER    # the UCR anomaly archive: files ..._TRAIN_BEGIN_END.txt
    python host/python/examples/calibration.py nab FOLDER    # github.com/numenta/NAB: its folders data and labels

`ucr` counts false alarms: the first TRAIN samples of a file are certified to be without anomalies. Of prefixes of at least 4,000
samples the last 12,000 are read, and all but the first 2,000 of those are judged. `nab` prints the score of the Numenta anomaly
benchmark (standard profile; 0 is no detection, 100 a perfect one), with one threshold for all files, the best one, as NAB has it.
"""

import json
import sys
from pathlib import Path

import ictd
import numpy as np
import pandas as pd


def predict(x):
    return ictd.Predictor(horizons=[10]).run(x)


def ucr(folder):
    thresholds, alarms, samples, files = np.array([1e-2, 1e-3, 1e-4]), np.zeros(3), 0, 0
    for path in sorted(folder.glob("*.txt")):
        train = int(path.stem.split("_")[-3])
        if train < 4000:
            continue
        x = np.array(path.read_text().split(), float)[:train][-12000:]
        depth = predict(x).depth[2000:, 0]
        alarms += [(depth > -np.log(p)).sum() for p in thresholds]
        samples, files = samples + len(depth), files + 1
    print(f"{files} prefixes, {samples} samples; false alarms over what the threshold says:")
    for p, share in zip(thresholds, alarms / samples):
        print(f"  {1 - p:.4f}: {share / p:.2f}")


def position_score(y):
    """NAB's sigmoid: near 1 at a window's begin (y = -1), 0 at its end, near -1 long after it."""
    return np.where(y > 3, -1.0, 2 / (1 + np.exp(np.clip(5 * y, -50, 50))) - 1)


def judged_rows(scores, windows, first):
    """Returns of each row that is judged its score, the window that it lies in (-1: none), and what an alarm there counts."""
    rows, window, counts = np.arange(len(scores)), np.full(len(scores), -1), np.full(len(scores), -1.0)
    ends = [begin for begin, _ in windows[1:]] + [len(scores)]
    for i, ((begin, end), until) in enumerate(zip(windows, ends)):
        inside, after = rows[begin : end + 1], rows[end + 1 : until]
        window[inside] = first + i
        counts[inside] = position_score(-(end - inside + 1) / len(inside)) / position_score(np.array(-1.0))
        counts[after] = position_score((after - end) / max(1, end - begin))
    judged = min(int(0.15 * len(scores)), 750)
    return scores[judged:], window[judged:], counts[judged:]


def best_score(files):
    """The best score of all thresholds: the earliest alarm of each window counts, a false one 0.11, a missed window -1."""
    parts, count = [], 0
    for scores, windows in files:
        parts.append(judged_rows(scores, windows, count))
        count += len(windows)
    scores, window, counts = map(np.concatenate, zip(*parts))
    best, threshold, false, found = -float(count), np.inf, 0.0, np.full(count, -1.0)
    order = np.argsort(-scores, kind="stable")
    for k, i in enumerate(order):
        if window[i] < 0:
            false += 0.11 * counts[i]
        else:
            found[window[i]] = max(found[window[i]], counts[i])
        is_last = k + 1 == len(order) or scores[order[k + 1]] < scores[i]
        if is_last and found.sum() + false > best:
            best, threshold = found.sum() + false, scores[i]
    return 100 * (best + count) / (2 * count), threshold


def nab(folder):
    labels = json.loads((folder / "labels" / "combined_windows.json").read_text())
    files = []
    for name, windows in labels.items():
        if (path := folder / "data" / name).exists():
            table = pd.read_csv(path)
            time = pd.to_datetime(table.timestamp)
            ends = [(pd.Timestamp(a), pd.Timestamp(b)) for a, b in windows]
            rows = [(int(time.searchsorted(a)), int(time.searchsorted(b, "right")) - 1) for a, b in ends]
            files.append((predict(table.value.to_numpy(float)), rows))
    print(f"{len(files)} files")
    depths = [(seen.depth[:, 0], rows) for seen, rows in files]
    print("  surprise: {:.1f}, threshold {:.2f} as a depth".format(*best_score(depths)))
    onsets = []
    for threshold in 1 - np.exp(-np.arange(4, 10, 0.25)):
        alarms = [(seen.onset(threshold)[:, 0].astype(float), rows) for seen, rows in files]
        onsets.append((best_score(alarms)[0], threshold))
    print("  onsets: {:.1f}, threshold {:.5f}".format(*max(onsets)))


if __name__ == "__main__":
    judges = {"ucr": ucr, "nab": nab}
    if len(sys.argv) != 3 or sys.argv[1] not in judges:
        sys.exit(__doc__)
    judges[sys.argv[1]](Path(sys.argv[2]))
