"""The example of the page on the bridge runs, and prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridges.jvm.peers import prepare_peers
from tests.style.project import text

pytestmark = [pytest.mark.java_peers]


def test_the_example_of_the_page_prints_what_the_page_says() -> None:
    page = text(Path("docs/bridges-jvm.md"))
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    program = f"jars = {[str(jar) for jar in prepare_peers()]}\n{found[1]}"
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == (found[2], 0), done.stderr
