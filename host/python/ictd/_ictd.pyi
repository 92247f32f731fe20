from os import PathLike
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Singles = NDArray[np.float32]

@final
class Model:
    """A transformer with fixed weights, or a classical algorithm in its place.

    It takes 1 to 64 features. It can be pickled and copied. Errors are `ValueError`, naming the argument, and `FloatingPointError` in a thread
    whose arithmetic is not IEEE 754's (a library has set flush-to-zero).
    """

    @staticmethod
    def universal(d: int | None = None, gamma: float = 0.9) -> Model:
        """The pretrained model: 39 parameters, for any number of features, context length and unit."""
    @staticmethod
    def td0(d: int, alpha: float = 0.2, layers: int = 15, gamma: float = 0.9) -> Model:
        """Theorem 1: each layer is a step of batch TD(0) with C = alpha I. Features should be within about [-1, 1]."""
    @staticmethod
    def td_lambda(
        d: int, trace_decay: float = 0.5, alpha: float = 0.2, layers: int = 15, gamma: float = 0.9
    ) -> Model:
        """Each layer is a step of batch TD(lambda), under the mask with that trace decay."""
    @staticmethod
    def online_td(
        lambda_: float = 0.9, alpha: float = 0.1, gamma: float = 0.9, true_online: bool = True
    ) -> Model:
        """Online TD(lambda) with step size alpha (Sutton & Barto, 12.5), or with accumulating traces (12.2)."""
    @staticmethod
    def recursive_lstd(
        lambda_: float = 0.9, ridge: float = 0.3, retention: float = 0.9998, gamma: float = 0.9
    ) -> Model:
        """Recursive LSTD(lambda): the past shrinks by `retention` with each transition."""
    @staticmethod
    def batch_td(
        lambda_: float = 0.0, alpha: float = 0.2, iterations: int = 15, gamma: float = 0.9
    ) -> Model:
        """`iterations` steps of batch TD(lambda) from w = 0."""
    @staticmethod
    def lstd(lambda_: float = 0.9, ridge: float = 0.3, gamma: float = 0.9) -> Model:
        """LSTD(lambda), each feature in units of its root mean square, with a ridge on the diagonal."""
    @staticmethod
    def linear(
        p: ArrayLike, q: ArrayLike, gamma: float = 0.9, layers: int | None = None, trace_decay: float = 0.0
    ) -> Model:
        """A transformer with linear attention and the parameters P, Q: (2 d + 1, 2 d + 1) of a layer that is applied
        `layers` times, or (L, 2 d + 1, 2 d + 1); rounded to float32. trace_decay: the mask's, the paper's lambda."""
    @staticmethod
    def load(
        path: str | PathLike[str],
        gamma: float | None = None,
        layers: int | None = None,
        seed: int = 0,
    ) -> Model:
        """A trained model: .safetensors, data.npz, a stored model, or the folder of a run (its seed `seed`) or seed.

        Raises `FileNotFoundError`, or `ValueError` naming the file and what it should hold.
        """
    @property
    def gamma(self) -> float:
        """The discount."""
    @property
    def layers(self) -> int | None:
        """Layers L, or iterations; None for an algorithm that has neither."""
    @property
    def d(self) -> int | None:
        """The number of features; None if the model takes any number."""
    def values(
        self,
        phi: ArrayLike,
        reward: ArrayLike,
        phi_next: ArrayLike | None = None,
        query: ArrayLike | None = None,
        gamma: float | None = None,
        terminal: ArrayLike | None = None,
        end: ArrayLike | None = None,
        rho: ArrayLike | None = None,
    ) -> Array:
        """The values, (m,), of the states `query`, (m, d), or of all rows of `phi`, in the context of n transitions.

        phi: (n, d) with phi_next (n, d); or (n + 1, d) alone, a trajectory whose every row follows the one before.
        reward: (n,) or (n, 1). terminal, end: (n,), true where the next state ends the episode (its value is 0), or where the
        episode is cut. gamma: another discount than the model's. rho: (n,), importance weights, as in `Context.observe`.
        """
    def weights(
        self,
        phi: ArrayLike,
        reward: ArrayLike,
        phi_next: ArrayLike | None = None,
        gamma: float | None = None,
        terminal: ArrayLike | None = None,
        end: ArrayLike | None = None,
        rho: ArrayLike | None = None,
    ) -> Array:
        """w, (d,), of the value function v(s) = <w, phi(s)> in that context."""

@final
class Context:
    """The state of a model on a stream of transitions, in constant memory.

    d: the number of features, 1 to 64. model: the universal one, with gamma = 0.9, by default. retention: in (0, 1),
    the past shrinks by that with each transition; by default all is remembered. It can be pickled and copied; threads that share
    it wait for each other.
    """

    def __new__(cls, d: int, model: Model | None = None, retention: float | None = None) -> Context: ...
    def observe(self, phi: ArrayLike, reward: float, phi_next: ArrayLike | None, rho: float = 1.0) -> None:
        """Takes a transition: (d,), a number, (d,). None for phi_next: the episode ended, no value follows.

        rho: pi(A|S) / b(A|S), if a policy b acted and the values of another one, pi, are asked for (per-decision importance
        sampling); a model that reads a context takes it.
        """
    def end_episode(self) -> None:
        """The next transition does not follow the last one."""
    def clear(self) -> None:
        """Forgets everything."""
    def copy(self) -> Context:
        """Returns an independent copy."""
    def __len__(self) -> int:
        """How many transitions there were."""
    def weights(self) -> Array:
        """w, (d,), of v(s) = <w, phi(s)>. `ValueError` before the first transition."""
    @overload
    def values(self, query: list[float]) -> float: ...
    @overload
    def values(self, query: ArrayLike) -> Array:
        """The values of states: a number for (d,), and (m,) for (m, d). `ValueError` before the first transition."""

@final
class Predictor:
    """Predicts what is coming of signals, with a band, and says how surprising each sample was; in constant memory.

    horizons: 1 to 4 different numbers of samples, from 1 to 1,000,000. signals: a predictor is made for each, and none knows
    of the others. limits: (low, high) of what the sensor can measure; samples outside of them are never learned from.
    dtype: the type that samples and answers are rounded to; with "float32" the answers are the C library's (`core/c`), bit
    for bit, and each reads the state that the other stores. It can be pickled and copied; threads that share it
    wait for each other.
    """

    def __new__(
        cls,
        horizons: Sequence[float],
        signals: int = 1,
        limits: tuple[float, float] | None = None,
        dtype: Literal["float64", "float32"] = "float64",
    ) -> Predictor: ...
    @property
    def horizons(self) -> list[float]: ...
    @property
    def signals(self) -> int:
        """The number of signals."""
    def observe(self, x: ArrayLike | None) -> Predictions:
        """Takes the next sample of each signal, (signals,), or one number; None, NaN or masked where it is missing."""
    def run(self, x: ArrayLike) -> Predictions:
        """Takes T samples, (T, signals), or (T,) of one signal, as `observe` does one after the other; masked or NaN where one
        is missing."""
    def reset(self) -> None:
        """Forgets all that was observed."""
    def to_bytes(self) -> bytes:
        """The whole state, each signal's as C's `ictd_predictor_to_bytes` stores it."""
    @staticmethod
    def from_bytes(data: bytes) -> Predictor:
        """A predictor that goes on where the stored one stood, to the same bits. `ValueError` for damaged bytes."""

@final
class Predictions:
    """What a predictor says after each sample: arrays with T in front if there were many.

    value, (signals, horizons): the weighted mean of the samples that follow, in the signal's unit; horizon h weighs the
    k-th by (1 - 1/h)^k. low, high: the band in which it lies nine times in ten, infinite while nothing is known. known: true
    once the band has ends.
    surprise, (signals,): in [0, 1); a threshold of 0.999 means a false alarm in about 1,000 samples. depth: the same as -ln p,
    which does not saturate. recent: the largest surprise of the 25 to 50 samples before. status: 0 for a sample that was
    taken, 1 for one that is missing, 2 for one that was held back, 3 for a level that moved.
    """

    @property
    def value(self) -> Array: ...
    @property
    def low(self) -> Array: ...
    @property
    def high(self) -> Array: ...
    @property
    def known(self) -> NDArray[np.bool_]: ...
    @property
    def depth(self) -> Singles: ...
    @property
    def surprise(self) -> Singles: ...
    @property
    def recent(self) -> Singles: ...
    @property
    def status(self) -> NDArray[np.uint8]: ...
    def onset(self, threshold: float) -> NDArray[np.bool_]:
        """(signals,): true where the surprise is above a threshold and was not in the 25 to 50 samples before."""

@final
class Task:
    """A policy evaluation task: a Markov reward process with features, drawn at random, or your own.

    Drawn: kind is "boyan" (Boyan's chain, random features and rewards), "boyan-representable" (values linear in the
    features), "mdp" (a random MDP under a random policy) or "loop". d: features; states: states; both up to 64.

    Your own: p, (m, m), the probability of going from row to column; reward, (m,), the (expected) reward on leaving a state;
    phi, (m, d), its features, one-hot states by default; p0, (m,), the initial distribution, uniform by default; terminal,
    (m,), true for states that end an episode: their value, features and reward are 0, and the next episode starts by p0.
    gamma: the discount. `ictd.train(tasks=[...])` trains on tasks. It can be pickled and copied.
    """

    def __new__(
        cls,
        kind: Literal["boyan", "boyan-representable", "mdp", "loop"] = "boyan",
        seed: int = 0,
        d: int = 4,
        states: int = 10,
        gamma: float = 0.9,
        actions: int = 3,
        *,
        p: ArrayLike | None = None,
        reward: ArrayLike | None = None,
        phi: ArrayLike | None = None,
        p0: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
    ) -> Task: ...
    @property
    def gamma(self) -> float: ...
    @property
    def phi(self) -> Array:
        """Features, (states, d)."""
    @property
    def p(self) -> Array:
        """Transition probabilities, (states, states), from row to column."""
    @property
    def p0(self) -> Array:
        """Initial distribution, (states,)."""
    @property
    def reward(self) -> Array:
        """The reward on leaving a state, (states,)."""
    @property
    def terminal(self) -> NDArray[np.bool_]:
        """True for states that end an episode, (states,)."""
    @property
    def value(self) -> Array:
        """True values, (states,)."""
    @property
    def distribution(self) -> Array:
        """The stationary distribution, (states,); 0 where an episode has ended."""
    def sample(self, n: int, seed: int = 0) -> tuple[Array, Array]:
        """A trajectory of n transitions: features (n + 1, d), rewards (n,).

        A state that ends an episode is a row of zeros, and the row after it the next start. Ctrl-C interrupts it.
        """

@final
class Batches:
    def __new__(cls, settings: list[tuple[str, str]], tasks: list[Task] | None, seed: int) -> Batches: ...
    @property
    def number(self) -> int: ...
    @property
    def context_length(self) -> int: ...
    @property
    def gamma(self) -> float: ...
    def batch(self, number: int) -> tuple[Singles, Singles, Singles]: ...

@final
class Contexts:
    def __new__(cls, settings: list[tuple[str, str]], tasks: list[Task] | None, count: int, seed: int) -> Contexts: ...
    @property
    def gamma(self) -> float: ...
    def arrays(self) -> tuple[Array, Array, Array]: ...
    def judge(self, length: int, values: ArrayLike, gradients: ArrayLike | None) -> dict[str, Any]: ...

def train(
    settings: list[tuple[str, str]],
    seeds: list[int],
    threads: int,
    on_log: Callable[[int, dict[str, float]], object] | None,
    tasks: list[Task] | None,
    folder: str | PathLike[str] | None,
) -> list[dict[str, Any]]: ...

def main() -> NoReturn:
    """The command line `ictd`, of the arguments in `sys.argv`; ends the process with its exit code."""

__version__: str
