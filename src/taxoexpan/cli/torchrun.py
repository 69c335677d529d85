"""A command in several processes, which torchrun starts; together they print like one process."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.errors import TaxoExpanError

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

    from taxoexpan.training.distributed import Processes

INTERRUPTED = 130
"""The exit status after Ctrl-C."""


@contextmanager
def joined_processes(options: argparse.Namespace) -> Iterator[Processes]:
    """Connect the processes of torchrun, and give each its device; without torchrun there is one.

    Only the first process prints and writes files.
    """
    from torch.distributed import is_torchelastic_launched
    from torch.distributed.rendezvous import rendezvous

    from taxoexpan.training.distributed import ALONE, TIMEOUT, join_processes, own_device

    if not is_torchelastic_launched():
        yield ALONE
        return
    store, rank, count = next(rendezvous("env://", timeout=TIMEOUT))
    with _one_report(store), _only_first_prints(rank):
        processes = join_processes(store, rank, count, options.device)
        options.device = own_device(options.device)
        if not processes.is_first:
            options.quiet = True
            options.log = options.tensorboard = options.report = None
        yield processes


@contextmanager
def _only_first_prints(rank: int) -> Iterator[None]:
    """Drop the output of all processes but the first."""
    if rank == 0:
        yield
        return
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


@contextmanager
def _one_report(store: Store) -> Iterator[None]:
    """Report only the first error of all processes; the others are its consequences.

    Ctrl-C reaches every process, and torchrun ends those that are left soon after. So it ends the
    training without a model, unlike in one process.
    """
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    except BaseException as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # torchrun sends it again
        status = _exit_status(error)
        if status == 128 + signal.SIGTERM or not status:  # another process failed, or none
            raise
        if not _is_first_failure(store):
            raise SystemExit(status) from None
        if status == INTERRUPTED:
            raise KeyboardInterrupt from None
        raise


def _exit_status(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return 2 if isinstance(error, TaxoExpanError) else 1


def _is_first_failure(store: Store) -> bool:
    """Whether no other process has failed before, as far as the store of torchrun can be asked."""
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    try:
        return store.add(f"taxoexpan/failures/{attempt}", 1) == 1
    except RuntimeError:  # torchrun, or the first process, which keeps the store, is gone
        return False


def _interrupt(*_: object) -> None:
    """Exit on Ctrl-C, like on SIGTERM, so that no training goes on with the best epoch so far."""
    raise SystemExit(INTERRUPTED)
