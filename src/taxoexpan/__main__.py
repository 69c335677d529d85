"""Starts the command line, for `taxoexpan` and `python -m taxoexpan`.

Ctrl-C must not print a traceback, also while modules are imported and while Python ends. So this
module imports nothing before it handles the signal.
"""

import os
import signal
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command of the command line, and return its exit status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)  # nothing has to be cleaned up yet
    try:
        from taxoexpan.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)  # while Python ends, they end it at once


def _quit(*_: object) -> None:
    os.write(2, b"\ntaxoexpan: stopped\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
