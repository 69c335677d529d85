"""The taxonomy: an immutable graph of concepts, with their names and ids, and additions to it.

Exports `Taxonomy` and `Concept`, and the changes `Additions`, `Move` and `Provenance`. The other
modules, by subject:

- the graph: `adjacency` holds the relations as flat `arrays` and finds depths and cycles, and
  `reach_intervals` says which concepts are above which;
- names: `names` and `english` compare them, `known_names` filters new concepts, `name_search` finds
  concepts by name;
- ids of new concepts: `id_assignment` gives them by the user's `id_policy`, or in a style that it
  recognizes: `ids`, `parent_codes`; `curies` relates short and long ids;
- two versions: `difference`, and `version_rows` for large ones;
- storage: `sequences` save memory, `storage` is the form on disk.
"""

from taxoexpan.taxonomy.additions import Additions, Move, Provenance
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.taxonomy import Taxonomy

__all__ = ["Additions", "Concept", "Move", "Provenance", "Taxonomy"]
