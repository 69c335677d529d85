"""Discovery of new concepts in a text corpus.

Exports `discover`, its result `DiscoveredConcept`, and `discovered_concepts_table`, which writes
them as a list of new concepts. `term_discovery` reads the corpus twice. The first pass counts
phrases (`words`), from which `candidates` are chosen. The second one collects `observations` and
`definitions`. Then candidates are ranked (`candidate_ranking`) and named (`label_choice`).
"""

from taxoexpan.curation.discovery.term_discovery import (
    DiscoveredConcept,
    discover,
    discovered_concepts_table,
)

__all__ = ["DiscoveredConcept", "discover", "discovered_concepts_table"]
