"""The start of `taxoexpan` and `python -m taxoexpan`.

This module imports nothing before it handles Ctrl-C, which must not print a traceback.
"""

import gc
import os
import signal
import sys

INTERRUPTED = 130
GC_THRESHOLD = 10_000
"""New objects between two searches for garbage; Python's 700 delay the imports of large modules."""


def main() -> int:
    """Run the command line and return the exit status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)  # nothing has to be cleaned up yet
    _replace_closed_streams()
    # Threads sleep while they wait for each other; OpenMP reads this when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    gc.set_threshold(GC_THRESHOLD)
    try:
        from taxoexpan.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        gc.freeze()  # the end of the process frees everything without another search
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)  # while Python ends, they end it at once


def _replace_closed_streams() -> None:
    """Connect closed standard streams to the null device.

    Otherwise, an output file would get the number of a closed stream, and then its messages.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:  # printing to None prints to standard output
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace")


def _quit(*_: object) -> None:
    os.write(2, b"\ntaxoexpan: stopped\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
