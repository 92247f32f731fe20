"""The program that comes with the package."""

import json
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import ictd
import pandas

COMMAND = Path(sysconfig.get_path("scripts")) / "ictd"

PLAN = """
seeds = 2
[settings]
tasks = 20
dim = 2
states = 5
[grid]
layers = [1, 2]
"""


def run(*arguments, cwd):
    return subprocess.run([COMMAND, *arguments], cwd=cwd, capture_output=True, text=True)


def test_a_sweep_is_a_table_of_what_train_gives(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    for what in (["--shard", "1/2"], ["--shard", "2/2"], ["--collect"]):
        ended = run("sweep", "plan.toml", "--out", "results", *what, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    frame = pandas.read_csv(tmp_path / "results/sweep/sweep.csv")
    assert len(frame) == 2 * 2 * 2
    for layers, rows in frame.groupby("layers"):
        runs = ictd.train({"tasks": 20, "dim": 2, "states": 5, "layers": layers}, range(2))
        pandas.testing.assert_series_equal(
            rows.set_index(["seed", "tasks"]).msve,
            pandas.DataFrame(ictd.table(runs)).set_index(["seed", "tasks"]).msve,
            check_exact=True,
            check_index_type=False,  # text has no unsigned integers
        )


def test_exit_codes_are_the_programs(tmp_path):
    ended = run("train", "--layers", "0", "--json", cwd=tmp_path)
    assert ended.returncode == 2 and "--layers" in json.loads(ended.stdout)["error"]
    assert run("--version", cwd=tmp_path).stdout.startswith("ictd ")


def test_ctrl_c_ends_it_as_the_program(tmp_path):
    # A job in the background of a shell ignores Ctrl-C.
    begin = "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", begin, COMMAND, "train", "--tasks", "100000000", "--checkpoint-every", "0"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("results/*/seed_0/checkpoint.bin")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in error
