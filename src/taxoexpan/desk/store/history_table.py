"""The history of decisions as a CSV table: who decided what, when, and with which model."""

from __future__ import annotations

from collections.abc import Iterable

from taxoexpan.desk.store.records import LoggedDecision
from taxoexpan.formats.tables.formulas import protect_cells
from taxoexpan.formats.tables.table import csv_text

COLUMNS = (
    "number",
    "time",
    "curator",
    "action",
    "query",
    "parent_id",
    "parent_label",
    "kind",
    "moves",
    "rank",
    "confidence",
    "reason",
    "comment",
    "model",
    "batch",
    "undoes",
    "undone",
)


def history_csv(logged: Iterable[LoggedDecision], keep_formulas: bool = False) -> str:
    """Return one row per decision; several parents are separated by a vertical bar."""
    return csv_text(COLUMNS, (protect_cells(_row(each), keep_formulas) for each in logged))


def _row(logged: LoggedDecision) -> dict[str, object]:
    decision, placements = logged.decision, logged.decision.placements
    return {
        "number": logged.number,
        "time": logged.time.isoformat(timespec="seconds"),
        "curator": logged.curator,
        "action": decision.action.value,
        "query": logged.label,
        "parent_id": "|".join(each.parent_id for each in placements),
        "parent_label": "|".join(each.parent_label for each in placements),
        "kind": "|".join(each.kind.value for each in placements),
        "moves": "|".join(id for each in placements for id in each.moves),
        "rank": "|".join(str(each.rank or "") for each in placements),
        "confidence": "|".join(_number(each.confidence) for each in placements),
        "reason": decision.reason.value if decision.reason else "",
        "comment": decision.comment,
        "model": logged.model or "",
        "batch": decision.batch or "",
        "undoes": logged.undoes[0] if logged.undoes else "",
        "undone": "yes" if logged.undone else "",
    }


def _number(confidence: float | None) -> str:
    return "" if confidence is None else f"{confidence:.4g}"
