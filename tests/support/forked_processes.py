"""Child processes that start at once, because they are forked, and their ends."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable


def fork(run: Callable[[], object]) -> int:
    """Start a process that runs a function and exits with its status, or 0; return its id."""
    process = os.fork()
    if process:
        return process
    status = 99
    try:
        result = run()
        status = result if isinstance(result, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def fork_and_wait(run: Callable[[], object], kill_after: float | None = None) -> int:
    """Run a function in a child process, which may be killed; return the signal or the status."""
    process = fork(run)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
