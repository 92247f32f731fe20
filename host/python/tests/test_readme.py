"""What the README shows works, as it stands there."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
BLOCKS = [
    (f"{path.parent.name}/{path.name}:{i}", block)
    for path in (PACKAGE / "README.md", PACKAGE.parents[1] / "README.md", PACKAGE.parent / "src/guide/task.md")
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", [block for _, block in BLOCKS], ids=[name for name, _ in BLOCKS])
def test_a_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
