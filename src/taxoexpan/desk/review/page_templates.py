"""Templates of the review pages: Jinja2 with autoescape, and the filters that they use."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from taxoexpan.desk.review.static_files import asset_url
from taxoexpan.desk.store.records import Action, Reason, Status
from taxoexpan.phrasing import percent
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.report.page import has_long_word, printable, shortened_path

STATUS_NAMES = {
    Status.TODO: "To do",
    Status.ACCEPTED: "Accepted",
    Status.REJECTED: "Rejected",
    Status.DEFERRED: "Not sure",
}
ACTION_NAMES = {
    Action.ACCEPT: "accepted",
    Action.REJECT: "rejected",
    Action.REJECT_PROPOSAL: "proposal rejected",
    Action.DEFER: "not sure",
    Action.COMMENT: "comment",
    Action.UNDO: "undo",
}
REASON_NAMES = {
    Reason.WRONG_PARENTS: "no proposal is right",
    Reason.OUT_OF_SCOPE: "does not belong in the taxonomy",
    Reason.OTHER: "another reason",
}
RELATION_NAMES = {SuggestionKind.MERGE: "synonym of"}


@lru_cache
def make_environment() -> Environment:
    """Return the compiled templates; every text is escaped, and unknown names are errors."""
    environment = Environment(
        loader=PackageLoader("taxoexpan.desk.review"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
    )
    environment.globals["asset"] = asset_url
    environment.filters.update(
        shorten=shorten,
        is_long=has_long_word,
        shown_path=shortened_path,
        clock=_clock,
        plain=_plain,
        errors=_errors,
        percent=percent,
        status=lambda status: STATUS_NAMES[Status(status)],
        action=lambda action: ACTION_NAMES[Action(action)],
        reason=lambda reason: REASON_NAMES.get(reason, ""),
        relation=lambda kind: RELATION_NAMES.get(kind, "below"),
    )
    for name in environment.list_templates():  # compiled now, not for the first curator
        environment.get_template(name)
    return environment


def shorten(text: str, limit: int) -> str:
    """Return a text with its end left out if it is longer than the limit."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _clock(time: datetime) -> str:
    """Return a time of this day, or a day with its time, in the time zone of the server."""
    local = time.astimezone()
    is_today = local.date() == datetime.now().astimezone().date()
    return f"{local:%H:%M}" if is_today else f"{local.day} {local:%b %Y, %H:%M}"


def _plain(number: float | None) -> str:
    """Return a number without needless digits, or nothing."""
    return "" if number is None else f"{number:.4f}".rstrip("0").rstrip(".")


def _errors(number: float | None) -> str:
    """Return an expected number of errors: exact to one digit, but never a false zero."""
    if number is None:
        return "unknown"
    if 0 < number < 0.1:
        return "under 0.1"
    return f"{number:.1f}" if number < 100 else f"{number:,.0f}"
