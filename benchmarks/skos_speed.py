"""Read, check and extend a SKOS vocabulary of 100,000 concepts, compared with rdflib.

python benchmarks/skos_speed.py [CONCEPTS]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HEADER = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://example.org/c/> .
ex:scheme a skos:ConceptScheme .
"""
KINDS = ("red", "old", "small", "dried", "wild", "sweet", "river", "stone", "winter", "northern")
THINGS = ("apple", "bridge", "engine", "violin", "beetle", "harbour", "poem", "treaty", "protein")


def write_vocabulary(path: Path, count: int) -> None:
    """Write concepts with seven triples: type, scheme, two labels, synonym, definition, parent."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write(HEADER)
        for i in range(count):
            words = [KINDS[k] for k in rng.integers(len(KINDS), size=2)]
            name = f"{words[0]} {words[1]} {THINGS[i % len(THINGS)]} {i}"
            parent = f" ; skos:broader ex:c{rng.integers(i // 8, i)}" if i else ""
            file.write(
                f"ex:c{i} a skos:Concept ; skos:inScheme ex:scheme ;"
                f' skos:prefLabel "{name}"@en , "Begriff {i}"@de ; skos:altLabel "{name}s"@en ;'
                f' skos:definition "what is known as {name}, and not as anything else"@en{parent}'
                " .\n"
            )


def measure_taxoexpan(path: Path, count: int) -> None:
    from taxoexpan.curation.checks.all_checks import check_taxonomy
    from taxoexpan.formats.taxonomy_file import TaxonomyFile
    from taxoexpan.taxonomy import Additions, Concept

    began = time.monotonic()
    document = TaxonomyFile.open(path)
    print_line("taxoexpan read", began)
    assert len(document.taxonomy) == count
    began = time.monotonic()
    findings = check_taxonomy(document.taxonomy)
    print_line(f"taxoexpan check ({len(findings):,} findings)", began)
    new = [Concept(f"http://example.org/c/new{i}", f"new concept {i}") for i in range(1000)]
    relations = [
        (f"http://example.org/c/c{i * 7 % count}", concept.id) for i, concept in enumerate(new)
    ]
    began = time.monotonic()
    document.write(Additions(new, relations), path.with_stem("expanded"))
    print_line("taxoexpan write, 1,000 concepts added", began)


def measure_rdflib(path: Path, count: int) -> None:
    import rdflib

    began = time.monotonic()
    graph = rdflib.Graph().parse(path)
    assert len(graph) > count
    print_line(f"rdflib parse ({len(graph):,} triples)", began)
    began = time.monotonic()
    graph.serialize(path.with_stem("rdflib"), format="turtle")
    print_line("rdflib serialize", began)


def print_line(what: str, began: float) -> None:
    seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<45}{seconds:>8.1f} s{peak:>10,.0f} MB peak so far", flush=True)


def main() -> None:
    if len(sys.argv) == 4:
        {"taxoexpan": measure_taxoexpan, "rdflib": measure_rdflib}[sys.argv[1]](
            Path(sys.argv[2]), int(sys.argv[3])
        )
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary.ttl"
        write_vocabulary(path, count)
        print(f"{count:,} concepts, {path.stat().st_size / 1e6:.0f} MB of Turtle")
        # In separate processes, so that the peak memory of one does not count for the other.
        for library in ("taxoexpan", "rdflib"):
            subprocess.run([sys.executable, __file__, library, str(path), str(count)], check=True)


if __name__ == "__main__":
    main()
