"""Reading corrupted files never crashes, and needs bounded time and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from corruptions import NAMES, trials

QUICK_COUNT, SLOW_COUNT = 400, 10_000
MAX_SECONDS = 20.0
"""For one small file; a parser without bounds needs minutes, even on an idle machine."""

MAX_MEMORY = 3 << 30


@pytest.mark.parametrize("format", NAMES)
def test_a_corrupted_file_is_read_or_refused(format: str, tmp_path: Path) -> None:
    outcomes, seconds = zip(*trials(format, QUICK_COUNT, tmp_path), strict=True)
    assert set(outcomes) == {True, False}
    assert max(seconds) < MAX_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("format", NAMES)
def test_ten_thousand_corrupted_files_need_bounded_memory(format: str, tmp_path: Path) -> None:
    program = f"""
import resource, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from corruptions import trials
resource.setrlimit(resource.RLIMIT_AS, ({MAX_MEMORY}, {MAX_MEMORY}))
outcomes = trials({format!r}, {SLOW_COUNT}, Path({str(tmp_path)!r}), 1)
slowest = max(seconds for _, seconds in outcomes)
status = Path("/proc/self/status").read_text()
print(slowest, int(status.split("VmHWM:")[1].split()[0]) / 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    slowest, megabytes = map(float, done.stdout.split())
    print(f"{format}: {SLOW_COUNT:,} files, slowest {slowest:.2f} s, peak {megabytes:,.0f} MB")
    assert slowest < MAX_SECONDS
