"""What users write, and a strict type checker accepts; `make lint` checks it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from taxoexpan import (
    Concept,
    Holdout,
    Metrics,
    Reliability,
    Settings,
    Suggestion,
    SuggestionKind,
    Suggestions,
    Suitability,
    TaxoExpan,
    Taxonomy,
    expand_file,
    hold_out_leaves,
    read_taxonomy,
    write_taxonomy,
)

taxonomy: Taxonomy = read_taxonomy("topics.csv", columns={"id": "Key", "parent": 3})
frame = pd.DataFrame({"label": ["saw"], "parents": ["tool"]})
tools: Taxonomy = Taxonomy.from_pandas(frame, columns={"label": "label"})
more: Taxonomy = Taxonomy.from_records([{"label": "saw", "parents": ["tool"]}])
settings: Settings = {"hidden_dim": 64, "propagation": "pgat"}
model: TaxoExpan = TaxoExpan("best", seed=1, **settings).fit(taxonomy, progress=True)
small: TaxoExpan = TaxoExpan("fast", hidden_dim=64, matching="mlp").fit(taxonomy)
suggestions: Suggestions = model.suggest(["kefir", Concept("1", "mate"), {"label": "chai"}])
first: Suggestion = model.suggest("kefir", top_k=3)[0][0]
by_label: Suggestion = suggestions["kefir"][0]
merges: list[str] = [s.query.label for s in suggestions.flat if s.kind is SuggestionKind.MERGE]
nowhere: bool = first.place is Suitability.NONE
confidence: float | None = first.confidence
table: pd.DataFrame = suggestions.to_frame()
holdout: Holdout = hold_out_leaves(taxonomy, fraction=0.1, seed=1)
metrics: Metrics = model.evaluate(holdout)
reliability: Reliability | None = model.reliability(holdout)
expanded: Taxonomy = model.expand(frame["label"], truth=0.8)
write_taxonomy(expanded, Path("out.ttl"), source="in.ttl", force=True)
expand_file("a.csv", "new.csv", "b.csv", top_k=2, preset="fast", hidden_dim=8, report="r.html")
loaded: TaxoExpan = TaxoExpan.load(Path("model"))
