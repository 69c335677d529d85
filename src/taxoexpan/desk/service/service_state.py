"""What the routes of the service share."""

from __future__ import annotations

from dataclasses import dataclass

from taxoexpan.desk.service.service_limits import ServiceLimits
from taxoexpan.desk.service.service_metrics import ServiceMetrics
from taxoexpan.desk.service.suggester import Suggester
from taxoexpan.model import TaxoExpan
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.name_search import NameIndex


@dataclass(frozen=True)
class ServiceState:
    """A model that is ready to answer requests."""

    name: str
    """The name of the model's directory."""
    taxonomy: Taxonomy
    suggester: Suggester
    index: NameIndex
    metrics: ServiceMetrics
    limits: ServiceLimits

    @classmethod
    def of(cls, model: TaxoExpan, name: str, limits: ServiceLimits) -> ServiceState:
        """Prepare a model, so that the first request is answered as fast as the others."""
        metrics = ServiceMetrics()
        suggester = Suggester(model, limits.max_waiting, metrics.count_batch)
        metrics.watch_queue(lambda: suggester.batcher.waiting)
        suggester.warm_up()
        index = NameIndex.of(model.taxonomy)
        return cls(name, model.taxonomy, suggester, index, metrics, limits)
