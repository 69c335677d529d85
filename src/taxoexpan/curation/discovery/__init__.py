"""Discovery of new concepts in a text corpus.

Exports `discover`, its result `DiscoveredConcept`, and `discovered_concepts_table`, which writes
them as a list of new concepts. `sharded_discovery` divides the work among several machines.
"""

from taxoexpan.curation.discovery.term_discovery import (
    DiscoveredConcept,
    discover,
    discovered_concepts_table,
)

__all__ = ["DiscoveredConcept", "discover", "discovered_concepts_table"]
