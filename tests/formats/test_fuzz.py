"""Reading never crashes on garbage, and never needs time or memory out of proportion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mutations import NAMES, trials

FEW, MANY = 400, 10_000
SLOWEST = 20.0
"""Seconds for one small file; a parser that runs away needs minutes, a busy machine does not."""

MEMORY = 3 << 30


@pytest.mark.parametrize("format", NAMES)
def test_a_spoiled_file_is_a_taxonomy_or_an_error_of_ours(format: str, tmp_path: Path) -> None:
    outcomes, seconds = zip(*trials(format, FEW, tmp_path), strict=True)
    assert set(outcomes) == {True, False}
    assert max(seconds) < SLOWEST


@pytest.mark.slow
@pytest.mark.parametrize("format", NAMES)
def test_ten_thousand_spoiled_files_in_bounded_memory(format: str, tmp_path: Path) -> None:
    program = f"""
import resource, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from mutations import trials
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
slowest = max(seconds for _, seconds in trials({format!r}, {MANY}, Path({str(tmp_path)!r}), 1))
status = Path("/proc/self/status").read_text()
print(slowest, int(status.split("VmHWM:")[1].split()[0]) / 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    slowest, megabytes = map(float, done.stdout.split())
    print(f"{format}: {MANY:,} files, slowest {slowest:.2f} s, peak {megabytes:,.0f} MB")
    assert slowest < SLOWEST
