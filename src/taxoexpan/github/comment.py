"""The comment of the GitHub Action on a pull request."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from taxoexpan.github.workflow import annotate

MAX_COMMENT = 65_000
"""Characters of a comment; GitHub refuses more than 65,536."""


def comment_body(title: str, sections: Sequence[str]) -> str:
    """Return a comment with a hidden marker; long sections are cut at the end of a line."""
    parts = [section.splitlines() for section in sections]
    cut = [0] * len(parts)
    while sum(len(line) + 1 for part in parts for line in part) > MAX_COMMENT - 2_000:
        longest = max(range(len(parts)), key=lambda i: sum(map(len, parts[i])))
        half = len(parts[longest]) // 2
        cut[longest] += len(parts[longest]) - half
        parts[longest] = parts[longest][:half]
    lines = [comment_marker(title)]
    for part, missing in zip(parts, cut, strict=True):
        lines += [*part, *(["", f"… and {missing:,} more lines"] if missing else []), ""]
    return "\n".join(lines)


def comment_marker(title: str) -> str:
    """Return the hidden first line, by which the comment is found again."""
    return f"<!-- taxoexpan action: {quote(title)} -->"


def post_comment(
    environment: Mapping[str, str], event: Mapping[str, Any], body: str, has_news: bool
) -> None:
    """Create or update the comment on the pull request; without news, none is created."""
    number = event.get("pull_request", {}).get("number")
    if not number:
        annotate("notice", "this is not a pull request, so there is no comment")
        return
    repository = f"/repos/{environment['GITHUB_REPOSITORY']}"
    try:
        old = _old_comment(environment, f"{repository}/issues/{number}/comments", body)
        if old is not None:
            _call(environment, "PATCH", f"{repository}/issues/comments/{old}", {"body": body})
        elif has_news:
            _call(environment, "POST", f"{repository}/issues/{number}/comments", {"body": body})
    except (urllib.error.URLError, TimeoutError) as error:
        fix = "give the job the permission pull-requests: write; forks never have it"
        annotate("warning", f"the comment was not written ({error}); {fix}")


def _old_comment(environment: Mapping[str, str], path: str, body: str) -> int | None:
    """Return the id of the comment with the same marker."""
    marker = body.partition("\n")[0]
    page = 1
    while comments := _call(environment, "GET", f"{path}?per_page=100&page={page}"):
        for comment in comments:
            if comment["body"].startswith(marker):
                return int(comment["id"])
        page += 1
    return None


def _call(environment: Mapping[str, str], method: str, path: str, content: Any = None) -> Any:
    url = environment.get("GITHUB_API_URL", "https://api.github.com") + path
    data = None if content is None else json.dumps(content).encode()
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {environment.get('TAXOEXPAN_TOKEN', '')}",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
