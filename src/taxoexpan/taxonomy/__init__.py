"""The taxonomy: an immutable graph of concepts, with their names and ids, and additions to it.

- the graph: `adjacency` (relations as flat `arrays`, levels, cycles) and `reach_intervals`
  (ancestors and descendants);
- names: `names` and `english` (comparison), `known_names` (filter of new concepts), `name_search`;
- ids of new concepts: `id_assignment` by the user's `id_policy` or an existing style (`ids`,
  `parent_codes`); `curies` relates short and long ids;
- two versions: `difference`;
- storage: `sequences` in memory, `storage` on disk.
"""

from taxoexpan.taxonomy.additions import Additions, Move
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.taxonomy import Taxonomy

__all__ = ["Additions", "Concept", "Move", "Taxonomy"]
