from __future__ import annotations

import re

import pytest

from taxoexpan.desk.web.access import Access, is_loopback
from taxoexpan.errors import ConfigurationError


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "desk.example", ""])
def test_other_addresses_need_a_token(host: str) -> None:
    message = f"other machines can connect to the host {host!r}, so a token is needed"
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        Access(host)
    assert Access(host, "0123456789abcdef").token


@pytest.mark.parametrize(
    "token", ["", "short", "with a space in the middle", "ümlaut-in-the-token"]
)
def test_weak_tokens_are_refused(token: str) -> None:
    with pytest.raises(ConfigurationError, match="at least 16 letters and digits"):
        Access("127.0.0.1", token)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("1.1.1.1", False),
    ],
)
def test_loopback_addresses(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_only_the_whole_token_is_accepted() -> None:
    access = Access(token="0123456789abcdef")
    assert access.accepts("0123456789abcdef")
    assert not access.accepts("0123456789abcde")
    assert not access.accepts("")
    assert not Access().accepts("")
    assert not Access().accepts_derived(Access().session(), Access().session())


def test_the_entry_has_the_token() -> None:
    url = "http://10.0.0.1:8000/"
    assert Access("10.0.0.1", "a&b=c+d/e?f#ghijk").entry(url) == (
        f"{url}?token=a%26b%3Dc%2Bd%2Fe%3Ff%23ghijk"
    )
    assert Access().entry(url) == url
