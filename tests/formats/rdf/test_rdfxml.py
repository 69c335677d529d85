from __future__ import annotations

from pathlib import Path

from taxoexpan import Taxonomy


def test_a_lone_carriage_return_is_not_a_line_end(tmp_path: Path) -> None:
    path = tmp_path / "food.rdf"
    path.write_bytes(
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"\r'
        b' xmlns:s="http://www.w3.org/2004/02/skos/core#">\r<s:Concept rdf:about="http://f.org/a">'
        b"<s:prefLabel>a</s:prefLabel></s:Concept></rdf:RDF>"
    )
    assert Taxonomy.read(path).labels[0] == "a"
