"""What a strict type checker refuses: without the error, the comment would be one."""

from __future__ import annotations

from taxoexpan import Suggestions, TaxoExpan, Taxonomy, expand_file, read_taxonomy, write_taxonomy


def mistakes(model: TaxoExpan, taxonomy: Taxonomy, suggestions: Suggestions) -> None:
    """One mistake per line."""
    TaxoExpan("best", hiden_dim=64)  # type: ignore[call-arg]
    TaxoExpan("best", hidden_dim="64")  # type: ignore[arg-type]
    TaxoExpan("best", matching="dot")  # type: ignore[arg-type]
    expand_file("a.csv", "new.csv", "b.csv", topk=2)  # type: ignore[call-arg]
    read_taxonomy("topics.csv", colums="id=Key")  # type: ignore[call-arg]
    write_taxonomy("topics.csv", taxonomy)  # type: ignore[arg-type]
    model.suggest(["kefir"], top_k="3")  # type: ignore[arg-type]
    model.suggest("kefir", topk=3)  # type: ignore[call-arg]
    print(suggestions["kefir"].parent)  # type: ignore[attr-defined]
    model.evaluate(taxonomy)  # type: ignore[arg-type]
    print(suggestions[0][0].parent.name)  # type: ignore[attr-defined]
    taxonomy.write("out.csv")  # type: ignore[attr-defined]
