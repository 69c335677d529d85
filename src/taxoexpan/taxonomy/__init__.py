"""The taxonomy: an immutable graph of concepts, with their names and ids, and additions to it.

Exports `Taxonomy` and `Concept`, and the changes `Additions`, `Move` and `Provenance`. The other
modules, by subject:

- the graph: `adjacency` holds the relations as flat `arrays`, `levels` finds depths and cycles, and
  `reach_intervals` says which concepts are above which;
- names: `names` and `english` compare them, `known_names` and `concept_inputs` filter new concepts,
  `name_search` and `label_endings` find concepts by name;
- ids of new concepts: `id_assignment` gives them by the user's `id_policy` and `id_templates`, or
  in a style that it recognizes: `ids` and `id_numbers`, `hierarchical_ids`, `padded_codes`,
  `branch_numbers`; `curies` relates short and long ids;
- two versions: `difference`, `concept_matching` for other ids, `version_rows` for large ones;
- storage: `packed_text` and `lazy_sequence` save memory, `stored_arrays` and `stored_columns` are
  the forms on disk.
"""

from taxoexpan.taxonomy.additions import Additions, Move, Provenance
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.taxonomy import Taxonomy

__all__ = ["Additions", "Concept", "Move", "Provenance", "Taxonomy"]
