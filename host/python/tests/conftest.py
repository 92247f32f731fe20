import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def program():
    """The command line of the same checkout: `ICTD_PROGRAM`, or what was built last."""
    target = Path(__file__).parents[3] / "target"
    built = [target / profile / "ictd" for profile in ("release", "debug")]
    found = os.environ.get("ICTD_PROGRAM") or next((str(p) for p in built if p.exists()), shutil.which("ictd"))
    if found is None:
        pytest.fail("the command line is not built: cargo build -p host, or ICTD_PROGRAM=PATH")
    return found
