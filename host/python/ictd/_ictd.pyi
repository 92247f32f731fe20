from os import PathLike
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Singles = NDArray[np.float32]

@final
class Model:
    """A transformer with fixed weights, or a classical algorithm with the same interface.

    It accepts 1 to 64 features. It can be pickled and copied. Errors are `ValueError`, naming the argument, and
    `FloatingPointError` in a thread whose arithmetic is not IEEE 754's (a library has set flush-to-zero).
    """

    @staticmethod
    def universal(d: int | None = None, gamma: float = 0.9) -> Model:
        """The model that ships, for any number of features, context length and scale.

        Features must be distances from a level: of a temperature in kelvin it predicts nearly nothing.
        """
    @staticmethod
    def td0(d: int, alpha: float = 0.2, layers: int = 15, gamma: float = 0.9) -> Model:
        """Theorem 1: each layer is a step of batch TD(0) with C = alpha I. Features should be within about [-1, 1]."""
    @staticmethod
    def td_lambda(
        d: int, trace_decay: float = 0.5, alpha: float = 0.2, layers: int = 15, gamma: float = 0.9
    ) -> Model:
        """Each layer is a step of batch TD(lambda), under the mask with this trace decay."""
    @staticmethod
    def preconditioned_td(d: int, alpha: float, beta: float, layers: int = 15, gamma: float = 0.9) -> Model:
        """Preconditioned TD: step l of batch TD(0) has C = alpha (I - beta Sigma)^l, with the context's second moment Sigma.
        Training leads to it, nearly: with three layers and d = 4 to alpha = 2.4 and beta = 0.44."""
    @staticmethod
    def online_td(
        lambda_: float = 0.9, alpha: float = 0.1, gamma: float = 0.9, true_online: bool = True
    ) -> Model:
        """Online TD(lambda) with step size alpha (Sutton & Barto, 12.5), or with accumulating traces (12.2)."""
    @staticmethod
    def recursive_lstd(
        lambda_: float = 0.9, ridge: float = 0.3, retention: float = 0.9998, gamma: float = 0.9
    ) -> Model:
        """Recursive LSTD(lambda): `retention` multiplies the weight of the past at each transition."""
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
        attention: Literal["linear", "softmax"] | None = None,
    ) -> Model:
        """A trained model: .safetensors, data.npz, a stored model, or the folder of a run (its seed `seed`) or seed.

        gamma, layers, attention: what the file does not say. Layers that share their parameters can be applied any number of
        times, and a universal model has any gamma. Raises `FileNotFoundError`, or `ValueError` naming the file and the
        expected content, or a setting that contradicts it.
        """
    @staticmethod
    def _of_run(p: Singles, q: Singles, settings: bytes, gamma: float | None, layers: int | None) -> Model: ...
    @property
    def gamma(self) -> float:
        """The discount gamma."""
    @property
    def layers(self) -> int | None:
        """Layers L, or iterations; None for the universal model, and for an algorithm that has neither."""
    @property
    def d(self) -> int | None:
        """The number of features; None if the model takes any number."""
    @overload
    def values(
        self,
        phi: list[Array],
        reward: Sequence[ArrayLike],
        phi_next: Sequence[ArrayLike] | None = None,
        query: Sequence[ArrayLike] | None = None,
        gamma: float | None = None,
        terminal: Sequence[ArrayLike] | None = None,
        end: Sequence[ArrayLike] | None = None,
        rho: Sequence[ArrayLike] | None = None,
    ) -> list[Array]: ...
    @overload
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

        phi: (n, d) with phi_next (n, d); or only (n + 1, d), a trajectory in which each row follows the one before.
        reward: (n,) or (n, 1). terminal, end: (n,), true where the next state is terminal (its value is 0), or where the
        episode is truncated. gamma: another discount than the model's. rho: (n,), importance weights, as in `Context.observe`.

        Several contexts at once, each with the values that it has alone: of one length, with an axis (B, ...) before those of
        every argument (a `query` of (m, d) is asked of all), in parallel; or a list of arrays for each argument, which
        returns a list.
        """
    def value_function(
        self,
        phi: ArrayLike,
        reward: ArrayLike,
        phi_next: ArrayLike | None = None,
        gamma: float | None = None,
        terminal: ArrayLike | None = None,
        end: ArrayLike | None = None,
        rho: ArrayLike | None = None,
    ) -> ValueFunction:
        """The value function in that context, which `values` of the universal model clips to what its rewards allow."""

@final
class ValueFunction:
    """v(s) = level + <weights, phi(s)>. The level is 0 of every model but the universal one."""

    @property
    def weights(self) -> Array:
        """w, (d,)."""
    @property
    def level(self) -> float:
        """The value where all features are 0."""

@final
class Context:
    """The state of a model on a stream of transitions, in constant memory.

    d: the number of features, 1 to 64. model: the universal one, with gamma = 0.9, by default. retention: in (0, 1),
    multiplies the weight of the past at each transition; by default nothing is forgotten. It can be pickled and copied;
    threads that share it wait for each other.
    """

    def __new__(cls, d: int, model: Model | None = None, retention: float | None = None) -> Context: ...
    def observe(self, phi: ArrayLike, reward: float, phi_next: ArrayLike | None, rho: float = 1.0) -> None:
        """Observes a transition: (d,), a number, (d,). phi_next is None if the next state is terminal.

        rho: the importance ratio pi(A|S) / b(A|S) of the target policy pi and the behaviour policy b (per-decision
        importance sampling); only a model that reads a context accepts another one than 1.
        """
    def run(
        self,
        phi: ArrayLike,
        reward: ArrayLike,
        phi_next: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
        end: ArrayLike | None = None,
        rho: ArrayLike | None = None,
    ) -> None:
        """Observes n transitions in order, given as in `Model.values`. If one is rejected, those before it were observed."""
    def end_episode(self) -> None:
        """Ends the episode: the next transition does not follow the last one."""
    def clear(self) -> None:
        """Forgets everything."""
    def copy(self) -> Context:
        """Returns an independent copy."""
    def __len__(self) -> int:
        """The number of transitions observed."""
    def value_function(self) -> ValueFunction:
        """The value function, which `values` of the universal model clips to what its rewards allow. `ValueError` before the
        first transition."""
    @overload
    def values(self, query: list[float]) -> float: ...
    @overload
    def values(self, query: ArrayLike) -> Array:
        """The values of states: a number for (d,), and (m,) for (m, d). `ValueError` before the first transition."""

@final
class Predictor:
    """Predicts signals with a band, and measures how surprising each sample is, in constant memory.

    horizons: 1 to 4 different numbers of samples, from 1 to 1,000,000. signals: their number; each has an independent
    predictor. limits: the range (low, high) of the sensor; the predictor never learns from samples outside it.
    dtype: the precision of samples and results; with "float32" the results are bit-identical to the C library's
    (`core/c`), and each reads the state that the other stores. Both have four horizons, and repeat the last one if fewer are
    given; a Rust `Predictor` with fewer has other numbers, and so has the command line. It can be pickled and copied; threads
    that share it wait for each other.
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
        """Observes the next sample of each signal, (signals,) or one number; None, NaN or masked if missing."""
    def run(self, x: ArrayLike) -> Predictions:
        """Observes T samples in order, (T, signals), or (T,) of one signal; NaN or a masked entry is a missing sample."""
    def reset(self) -> None:
        """Forgets all that was observed."""
    def to_bytes(self) -> bytes:
        """The whole state, for each signal in the format of C's `ictd_predictor_to_bytes`."""
    @staticmethod
    def from_bytes(data: bytes) -> Predictor:
        """A predictor that continues from the stored state, bit for bit. `ValueError` for damaged bytes, horizons that are
        repeated elsewhere than at the end, and predictors of different horizons or precisions."""

@final
class Predictions:
    """A predictor's outputs after each sample: arrays, with a leading axis T after `run`.

    value, (signals, horizons): the weighted mean of the next samples, in the signal's unit; horizon h weighs the k-th by
    (1 - 1/h)^k. low, high: the 90 % band of this mean, infinite while it is not known. known: true once the band is finite;
    it never is for a signal that was never as large as 1e-18, or has come beyond 5e11 in size.
    surprise, (signals,): in [0, 1); a threshold of 0.999 means a false alarm in about 1,000 samples. An event passes 0.999 and
    0.9999 once each; its other samples stay below 0.999. depth: the surprise as -ln p, which does not saturate. recent: the
    largest surprise of the 25 to 50 samples before; as long as an event goes on, its alarm's. status: 0 for an accepted
    sample, 1 for a missing one, 2 for one held back (an outlier, or beyond 1e12), 3 for a level shift.
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
    (m,), true for states that end an episode: their value, features and reward are 0, and the next episode starts from p0.
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
    def __new__(cls, settings: list[tuple[str, str]], tasks: bytes | None, seed: int, start: int) -> Batches: ...
    @property
    def gamma(self) -> float: ...
    def next(self) -> tuple[Singles, Singles, Singles, Singles]: ...

@final
class Contexts:
    def __new__(cls, settings: list[tuple[str, str]], tasks: bytes | None, count: int, seed: int) -> Contexts: ...
    @property
    def gamma(self) -> float: ...
    def arrays(self) -> tuple[Array, Array, Array]: ...
    def judge(
        self, length: int, values: ArrayLike, gradients: ArrayLike | None
    ) -> tuple[float, float, float, list[tuple[str, float]], list[float]]: ...

Score = tuple[float, float, float]

@final
class Suite:
    def __new__(cls, task: str, count: int, seed: int) -> Suite: ...
    @staticmethod
    def tasks() -> list[str]: ...
    def arrays(self) -> tuple[Array, Array, Array, Array]: ...
    def score(self, values: ArrayLike) -> Score: ...
    def score_of(self, model: Model) -> Score | None: ...
    @staticmethod
    def mean(scores: list[Score]) -> Score: ...

def fit_features(kind: str, given: ArrayLike) -> str: ...
def encode(json: str, given: ArrayLike) -> Array: ...
@final
class Returns:
    def __new__(
        cls,
        phi: ArrayLike,
        reward: ArrayLike,
        phi_next: ArrayLike,
        terminal: ArrayLike,
        end: ArrayLike,
        rho: ArrayLike | None,
        gamma: float,
    ) -> Returns: ...
    def middle(self) -> int: ...
    def known(self) -> list[int]: ...
    def states(self, half: int) -> Array: ...
    def error(self, values: Sequence[ArrayLike]) -> tuple[float, float, float] | None: ...
    def advantage(
        self, first: Sequence[ArrayLike], second: Sequence[ArrayLike]
    ) -> tuple[float, float, float] | None: ...

def train(
    settings: list[tuple[str, str]],
    seeds: list[int],
    threads: int,
    on_log: Callable[[int, dict[str, float]], object] | None,
    tasks: bytes | None,
    folder: str | PathLike[str] | None,
) -> list[dict[str, Any]]: ...

def load_run(path: str | PathLike[str]) -> list[dict[str, Any]]: ...
def load(name: str, file: bytes, gamma: float) -> list[Task]: ...
def main() -> NoReturn:
    """Runs the command line `ictd` with `sys.argv`; exits the process with its exit code."""

__version__: str
