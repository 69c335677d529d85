from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from tests.support.expanded_files import write_file


def test_a_lone_carriage_return_is_not_a_line_end(tmp_path: Path) -> None:
    path = tmp_path / "food.rdf"
    path.write_bytes(
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"\r'
        b' xmlns:s="http://www.w3.org/2004/02/skos/core#">\r<s:Concept rdf:about="http://f.org/a">'
        b"<s:prefLabel>a</s:prefLabel></s:Concept></rdf:RDF>"
    )
    assert read_taxonomy(path).labels[0] == "a"


NAMESPACES = " ".join(f'xmlns:n{n}="http://f.org/{n}#"' for n in range(600))
CONCEPT = '<s:Concept rdf:about="http://f.org/a"><s:prefLabel>a</s:prefLabel></s:Concept>'


def document(root: str, element: str) -> str:
    """Return RDF/XML with these attributes of its root and of an element in line 3."""
    return (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"\n'
        f' xmlns:s="http://www.w3.org/2004/02/skos/core#" {root}>\n'
        f'<s:Concept {element} rdf:about="http://f.org/b"/>\n{CONCEPT}</rdf:RDF>\n'
    )


@pytest.mark.parametrize(
    ("root", "element", "line"),
    [
        (NAMESPACES + NAMESPACES.replace("xmlns:n", " xmlns:m"), "", 1),
        (NAMESPACES, NAMESPACES, 3),
        ("", " ".join(f's:n{n}="{n}"' for n in range(2000)), 3),
    ],
)
def test_too_many_namespaces_and_attributes_are_refused(
    tmp_path: Path, root: str, element: str, line: int
) -> None:
    path = write_file(tmp_path / "x.rdf", document(root, element))
    with pytest.raises(FormatError, match="more than 1,000 attributes or namespaces") as caught:
        read_taxonomy(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_hundreds_of_namespaces_are_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.rdf", document(NAMESPACES, 's:n="1"'))
    assert read_taxonomy(path).labels == ("b", "a")
