from __future__ import annotations

import os
import signal

import pytest

from taxoexpan.cluster.session import interrupts_ignored, ray_session
from taxoexpan.errors import ConfigurationError

pytest.importorskip("ray")


@pytest.mark.slow
def test_an_address_without_a_cluster_is_refused() -> None:
    environment, handler = dict(os.environ), signal.getsignal(signal.SIGTERM)
    message = (
        r"no connection to the Ray cluster at '127.0.0.1:9' .*; start one, and check the address"
    )
    with pytest.raises(ConfigurationError, match=message), ray_session("127.0.0.1:9", 1):
        pass
    assert dict(os.environ) == environment
    assert signal.getsignal(signal.SIGTERM) == handler


def test_an_interrupt_cannot_stop_the_end_of_a_session() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.getsignal(number) for number in numbers]
    with interrupts_ignored():
        for number in numbers:
            signal.raise_signal(number)
    assert [signal.getsignal(number) for number in numbers] == handlers
