"""Makes classical.json: the classical algorithms by their textbook forms, in numpy, from nothing else.

    /usr/bin/python3 tests/golden/classical.py > tests/golden/classical.json

Expected numbers are those in float64. Each algorithm also runs in long double and in float32, which gives the
tolerances: 100 and 20 times the errors that were measured, at least 1e-12 and 2e-6.
"""
import json
import numpy as np

rng = np.random.default_rng(20261122)


def stream(d, n, cumulants=2):
    """A ring of features with noise, in episodes; the last row of one is terminal, or cut."""
    phi = np.round(rng.uniform(-1, 1, (n, d)) + 0.5 * np.sin(np.arange(n)[:, None] * (1 + np.arange(d)) / 5), 6)
    phi_next = np.vstack([phi[1:], np.round(rng.uniform(-1, 1, (1, d)), 6)])
    terminal, end = np.zeros(n, int), np.zeros(n, int)
    terminal[n // 4 - 1 :: n // 4] = 1
    end[n // 3 :: n // 3] = 1
    phi_next[terminal == 1] = 0
    rewards = np.round(rng.uniform(-1, 1, (n, cumulants)) + phi[:, :1], 6)
    return {"phi": phi, "phi_next": phi_next, "rewards": rewards, "terminal": terminal, "end": end}


def traces(data, decay, number):
    """e_t = decay e_{t-1} + phi_t within each episode."""
    e, out = np.zeros(data["phi"].shape[1], number), []
    for phi, ends in zip(data["phi"], data["terminal"] | data["end"]):
        e = decay * e + phi
        out.append(e)
        if ends:
            e = np.zeros_like(e)
    return out


def online_td(p, data, number):
    """Sutton and Barto (2018), 12.2: semi-gradient TD(lambda) with an accumulating trace."""
    w = np.zeros((data["rewards"].shape[1], data["phi"].shape[1]), number)
    path = []
    for t, z in enumerate(traces(data, p["gamma"] * p["lambda"], number)):
        delta = data["rewards"][t] + p["gamma"] * (w @ data["phi_next"][t]) - w @ data["phi"][t]
        w = w + p["alpha"] * np.outer(delta, z)
        path.append(w[0])
    return {"weights": w, "path": np.array(path)}


def true_online_td(p, data, number):
    """Sutton and Barto (2018), 12.5: true online TD(lambda)."""
    weights, path = [], []
    for m in range(data["rewards"].shape[1]):
        w, z, v_old = (np.zeros(data["phi"].shape[1], number) for _ in range(3))
        v_old = number(0)
        for t, (x, x_next) in enumerate(zip(data["phi"], data["phi_next"])):
            v, v_next = w @ x, w @ x_next
            delta = data["rewards"][t, m] + p["gamma"] * v_next - v
            decay = p["gamma"] * p["lambda"]
            z = decay * z + (1 - p["alpha"] * decay * (z @ x)) * x
            w = w + p["alpha"] * (delta + v - v_old) * z - p["alpha"] * (v - v_old) * x
            v_old = v_next
            if data["terminal"][t] or data["end"][t]:
                z, v_old = np.zeros_like(z), number(0)
            if m == 0:
                path.append(w)
        weights.append(w)
    return {"weights": np.array(weights), "path": np.array(path)}


def solve(a, b):
    """Gaussian elimination with pivoting: numpy's has no long double."""
    a, b, n = a.copy(), b.copy(), len(b)
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i], b[i] = a[i] - factor * a[k], b[i] - factor * b[k]
    x = np.zeros_like(b)
    for i in reversed(range(n)):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def sums(p, data, number, retention):
    """A, b for each cumulant, the weight of all, and the mean squares over both states of each transition."""
    d, cumulants = data["phi"].shape[1], data["rewards"].shape[1]
    a, b = np.zeros((d, d), number), np.zeros((cumulants, d), number)
    weight, squares = number(0), np.zeros(d, number)
    for t, e in enumerate(traces(data, p["gamma"] * p["lambda"], number)):
        x, x_next = data["phi"][t], data["phi_next"][t]
        a = retention * a + np.outer(e, x - p["gamma"] * x_next)
        b = retention * b + np.outer(data["rewards"][t], e)
        weight, squares = retention * weight + 1, retention * squares + (x * x + x_next * x_next) / 2
    return a, b, weight, squares / weight


def lstd(p, data, number):
    """LSTD(lambda) on features divided by their root mean square, with a ridge; then forgetting."""
    out = {}
    for name, retention in [("weights", number(1)), ("forgetting", p["retention"])]:
        a, b, _, mean_squares = sums(p, data, number, retention)
        s = 1 / np.sqrt(mean_squares)
        scaled = s[:, None] * a * s + p["ridge"] * np.eye(len(s), dtype=number)
        out[name] = np.array([s * solve(scaled, s * b_m) for b_m in b])
    return out


def batch_td(p, data, number):
    out = {}
    for name, retention in [("weights", number(1)), ("forgetting", p["retention"])]:
        a, b, weight, _ = sums(p, data, number, retention)
        w = np.zeros_like(b)
        for _ in range(p["iterations"]):
            w = w + p["alpha"] / weight * (b - w @ a.T)
        out[name] = w
    return out


def recursive_lstd(p, data, number):
    """A w = b after each transition, solved anew; the ridge comes back to one coordinate after the other."""
    d, cumulants = data["phi"].shape[1], data["rewards"].shape[1]
    a, b = p["ridge"] * np.eye(d, dtype=number), np.zeros((cumulants, d), number)
    path = []
    for t, e in enumerate(traces(data, p["gamma"] * p["lambda"], number)):
        a = p["retention"] * a + np.outer(e, data["phi"][t] - p["gamma"] * data["phi_next"][t])
        a[t % d, t % d] += p["ridge"] * (1 - p["retention"] ** d)
        b = p["retention"] * b + np.outer(data["rewards"][t], e)
        path.append(solve(a, b[0]))
    return {"weights": np.array([solve(a, b_m) for b_m in b]), "path": np.array(path)}


def case(name, algorithm, d, n, **params):
    data = stream(d, n)

    def run(number):
        p = {k: x if isinstance(x, int) else number(x) for k, x in params.items()}
        numbers = {k: x if x.dtype == int else x.astype(number) for k, x in data.items()}
        return algorithm(p, numbers, number)

    want, exact, single = run(np.float64), run(np.longdouble), run(np.float32)

    def error(got, field):
        return float(np.max(np.abs(got[field] - exact[field])) / np.max(np.abs(exact[field])))

    tol = {
        f: {"f64": max(1e-12, 100 * error(want, f)), "f32": max(2e-6, 20 * error(single, f))} for f in want
    }
    shapes = {f"inputs.{k}": list(x.shape) for k, x in data.items()}
    shapes |= {f"expected.{k}": list(x.shape) for k, x in want.items()}
    return {
        "name": name,
        "params": {"kind": algorithm.__name__, "d": d, "n": n, **params},
        "inputs": {k: x.tolist() for k, x in data.items()},
        "expected": {k: x.tolist() for k, x in want.items()},
        "tol": tol,
        "shapes": shapes,
    }


cases = []
for d, n in [(1, 24), (2, 36), (4, 60), (8, 96)]:
    for lam in [0.0, 0.75, 1.0]:
        common = {"gamma": 0.9, "lambda": lam}
        for algorithm in [online_td, true_online_td]:
            name = f"{algorithm.__name__}_{d}_{lam}"
            cases.append(case(name, algorithm, d, n, alpha=0.2 / d, **common))
        more = {"retention": 0.95, **common}
        cases.append(case(f"batch_td_{d}_{lam}", batch_td, d, n, alpha=0.1 / d, iterations=20, **more))
        cases.append(case(f"lstd_{d}_{lam}", lstd, d, n, ridge=2.0, **more))
        cases.append(case(f"recursive_lstd_{d}_{lam}", recursive_lstd, d, n, ridge=2.0, **more))

text = {"family": "classical", "set": "own", "seed": 20261122, "dtype": "float64", "layout": "row-major"}
text["doc"] = "tests/golden/README.md"
body = ",\n".join(json.dumps(c) for c in cases)
print(json.dumps(text)[:-1] + ', "cases": [\n' + body + "\n]}")
