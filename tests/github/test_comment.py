from __future__ import annotations

import pytest

from taxoexpan.github.comment import comment_body, post_comment
from tests.support.github_runner import TOKEN, github


def test_a_comment_is_never_too_long_and_keeps_a_part_of_every_section() -> None:
    sections = [f"## Section {n}\n" + "- a line of text\n" * 5_000 for n in range(3)]
    body = comment_body("a-->b", sections)
    assert len(body) < 65_536
    assert [f"## Section {n}" in body for n in range(3)] == [True] * 3
    assert body.count("more lines") == 3
    first = body.splitlines()[0]
    assert first.count("-->") == 1
    assert comment_body("b", ["## Short\n"]).endswith("## Short\n")


def test_one_comment_is_created_and_then_updated() -> None:
    event = {"pull_request": {"number": 12}}
    with github() as service:
        service.comments += [{"id": n, "body": "hello"} for n in range(150)]
        environment = {
            "GITHUB_API_URL": service.url,
            "GITHUB_REPOSITORY": "someone/vocabulary",
            "TAXOEXPAN_TOKEN": TOKEN,
        }
        quiet = comment_body("A", ["nothing\n"])
        post_comment(environment, event, quiet, has_news=False)
        assert len(service.comments) == 150
        for text in ("first", "second"):
            body = comment_body("A", [text])
            post_comment(environment, event, body, has_news=True)
        other = comment_body("B", ["other"])
        post_comment(environment, event, other, has_news=True)
        post_comment(environment, event, quiet, has_news=False)
    bodies = [each["body"] for each in service.comments[150:]]
    assert [body.splitlines()[1] for body in bodies] == ["nothing", "other"]
    assert service.calls[-1] == "PATCH /repos/someone/vocabulary/issues/comments/7150"


def test_a_token_without_permission_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    with github() as service:
        service.may_write = False
        environment = {
            "GITHUB_API_URL": service.url,
            "GITHUB_REPOSITORY": "someone/vocabulary",
            "TAXOEXPAN_TOKEN": TOKEN,
        }
        event = {"pull_request": {"number": 12}}
        post_comment(environment, event, "<!-- x -->\n", has_news=True)
    shown = capsys.readouterr().out
    assert shown.startswith(
        "::warning title=taxoexpan::the comment was not written (HTTP Error 403"
    )
    assert "pull-requests: write" in shown
