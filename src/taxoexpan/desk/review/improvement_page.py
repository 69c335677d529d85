"""The page that starts a training from the decisions, and shows its progress."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.pages import Pages, see_other
from taxoexpan.thresholds import MIN_FOR_FEEDBACK


def show_improvement(pages: Pages, request: Request, status: int = 200) -> Response:
    """Return the page about the training."""
    return pages.render(
        request,
        "improve.html",
        "Improve",
        status,
        decided=_count_decided(pages),
        needed=MIN_FOR_FEEDBACK,
        training=pages.desk.evidence.training,
        progress=pages.improvement.progress if pages.improvement else None,
    )


def start_improvement(pages: Pages, request: Request, _: FormData) -> Response:
    """Start a training, unless one is running or there are too few decisions."""
    improvement = pages.improvement
    if improvement is None or _count_decided(pages) < MIN_FOR_FEEDBACK:
        return show_improvement(pages, request, 409)
    if not improvement.start(pages.desk):
        return show_improvement(pages, request, 409)
    return see_other("/improve")


def _count_decided(pages: Pages) -> int:
    """Count the concepts with decisions that a model can learn from."""
    feedback = pages.desk.store.feedback()
    return len({each.query.label for each in (*feedback.accepted, *feedback.rejected)})
