"""A thread whose arithmetic a library has changed is refused, and its neighbours are not."""

import ctypes
import platform
import shutil
import subprocess
import threading

import ictd
import numpy as np
import pytest

SOURCE = """
#include <xmmintrin.h>
void set(unsigned x) { _mm_setcsr(x); }
unsigned get(void) { return _mm_getcsr(); }
"""


@pytest.fixture(scope="module")
def register(tmp_path_factory):
    if platform.machine() != "x86_64" or shutil.which("gcc") is None:
        pytest.skip("sets a register of x86-64, by gcc")
    folder = tmp_path_factory.mktemp("mxcsr")
    (folder / "set.c").write_text(SOURCE)
    library = folder / "set.so"
    subprocess.run(["gcc", "-shared", "-fPIC", folder / "set.c", "-o", library], check=True)
    return ctypes.CDLL(library)


@pytest.mark.parametrize(
    "bits, found",
    [(0x8000, "flushes subnormal"), (0x0040, "flushes subnormal"), (0x2000, "round"), (0x4000, "round"), (0x6000, "round")],
    ids=["flush to zero", "subnormals are zero", "down", "up", "towards zero"],
)
def test_changed_arithmetic_is_refused(register, bits, found):
    model, phi, reward = ictd.Model.universal(), np.ones((3, 2)), np.ones(2)
    expected = model.values(phi, reward).tobytes()
    context, predictor, before, refused = ictd.Context(2), ictd.Predictor([5]), register.get(), []
    calls = [
        lambda: model.values(phi, reward),
        lambda: model.value_function(phi, reward).weights,
        lambda: context.observe(phi[0], 1.0, phi[1]),
        lambda: context.values(phi[0]),
        lambda: predictor.observe(1.0),
        lambda: ictd.Task(),
    ]
    register.set(before | bits)
    try:
        for call in calls:
            try:
                call()
            except FloatingPointError as error:
                refused.append(str(error))
    finally:
        register.set(before)
    assert len(refused) == len(calls) and all(found in reason for reason in refused)
    assert len(context) == 0
    assert model.values(phi, reward).tobytes() == expected


def test_another_thread_is_not_refused(register):
    found = []
    before = register.get()
    ready, go = threading.Event(), threading.Event()

    def clean():
        ready.set()
        go.wait()
        found.append(ictd.Model.universal().values(np.ones((3, 2)), np.ones(2)))

    thread = threading.Thread(target=clean)
    thread.start()
    ready.wait()
    register.set(before | 0x8000)
    try:
        go.set()
        thread.join()
    finally:
        register.set(before)
    assert len(found) == 1
