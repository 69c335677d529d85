"""Ctrl-C and SIGTERM while a command runs: it cleans up and ends without a traceback."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from taxoexpan.cli.messages import announce

if TYPE_CHECKING:
    from types import FrameType

RETRY_SECONDS = 0.05


class StopSignals:
    """A context that turns SIGINT and SIGTERM into exceptions, so that cleanup code runs.

    A signal that was ignored when the command started, as in a background job, stays ignored.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._handlers: dict[int, Any] = {}
        self._unraisable_hook = sys.unraisablehook

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._handlers[number] = signal.signal(number, self._stop)
        sys.unraisablehook = self._try_again
        return self

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self._unraisable_hook
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def exit_status(self, error: BaseException) -> int | None:
        """Return the exit status if a signal caused an error of any type."""
        if isinstance(error, KeyboardInterrupt):
            return 128 + signal.SIGINT
        return None if self._received is None else 128 + self._received

    def report(self, status: int) -> int:
        """Print that Ctrl-C stopped the command, ignore further signals, and return the status."""
        for number in self._handlers:
            signal.signal(number, signal.SIG_IGN)
        if status == 128 + signal.SIGINT:
            announce("\ntaxoexpan: stopped")
        return status

    def _stop(self, number: int, _: FrameType | None) -> None:
        self._received = number
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    def _try_again(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Resend a signal that arrived in a destructor, where exceptions are lost."""
        if not issubclass(unraisable.exc_type, KeyboardInterrupt | SystemExit):
            self._unraisable_hook(unraisable)
        elif self._received is not None:
            timer = threading.Timer(RETRY_SECONDS, _send_to_main_thread, [self._received])
            timer.daemon = True
            timer.start()


def _send_to_main_thread(number: int) -> None:
    if sys.platform != "win32":
        signal.pthread_kill(threading.main_thread().ident or 0, number)
