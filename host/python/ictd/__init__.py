"""In-context temporal-difference learning: models with fixed weights that read a trajectory and predict values.

    >>> import ictd
    >>> task = ictd.Task("boyan", seed=1)
    >>> phi, reward = task.sample(100)
    >>> ictd.Model.universal(gamma=0.9).values(phi, reward, query=task.phi).shape
    (10,)

Results are bit-identical to the command line's, on every machine; those of `Predictor` are the C library's.
"""

from . import tasks
from ._ictd import Context, Model, Predictions, Predictor, Task, ValueFunction, __version__
from .features import Encoded, Encoder, Evaluation, evaluate
from .judging import Benchmark, Verdict, bench, judge
from .logs import Log
from .runs import SeedRun, load_run, table, train

__all__ = [
    "Benchmark",
    "Context",
    "Encoded",
    "Encoder",
    "Evaluation",
    "Log",
    "Model",
    "Predictions",
    "Predictor",
    "SeedRun",
    "Task",
    "ValueFunction",
    "Verdict",
    "__version__",
    "bench",
    "evaluate",
    "judge",
    "load_run",
    "table",
    "tasks",
    "train",
]
