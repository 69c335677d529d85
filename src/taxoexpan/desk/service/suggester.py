"""A model that serves requests: it looks up known names, and places new concepts in batches."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.desk.web.problem import ProblemError
from taxoexpan.desk.web.protection import BUSY
from taxoexpan.model import TaxoExpan
from taxoexpan.placement.learned.calibrators import branch_threshold
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.name_search import NameIndex
from taxoexpan.taxonomy.names import normalize_name

MAX_BATCH = 128
"""Concepts of one call, unless a single request has more; larger batches are hardly faster."""


def concepts_by_name(taxonomy: Taxonomy) -> dict[str, tuple[int, ...]]:
    """Return the concepts with each normalized name: as a label, or else as another name."""
    labels = {index: (label,) for index, label in enumerate(taxonomy.labels)}
    concepts: dict[str, tuple[int, ...]] = {}
    for names_of in (labels, taxonomy.synonyms, taxonomy.foreign_names):
        found: dict[str, dict[int, None]] = {}
        for index, names in names_of.items():
            for name in names:
                found.setdefault(normalize_name(name), {})[index] = None
        concepts = {name: tuple(indices) for name, indices in found.items()} | concepts
    concepts.pop("", None)
    return concepts


@dataclass(eq=False)
class _Waiting:
    """The concepts of one request, and their suggestions as soon as they are known."""

    concepts: Sequence[Concept]
    options: SuggestOptions
    answers: list[list[Suggestion]] = field(default_factory=list)


@dataclass
class RequestBatcher:
    """A single thread that answers requests in order; one call answers all with equal options.

    `answer` must handle each concept independently of the others.
    """

    answer: Callable[[Sequence[Concept], SuggestOptions], list[list[Suggestion]]]
    max_waiting: int
    """The number of concepts that may wait."""
    on_batch: Callable[[int, float], None] = lambda _, __: None
    """Called after each call with the number of concepts and the seconds that it took."""
    waiting: int = 0
    """The number of concepts that wait or are being placed."""
    _queue: dict[_Waiting, None] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "model"))

    async def submit(
        self, concepts: Sequence[Concept], options: SuggestOptions
    ) -> list[list[Suggestion]]:
        """Return the suggestions; refuse concepts if others wait and these do not fit."""
        if not concepts:
            return []
        if self.waiting and self.waiting + len(concepts) > self.max_waiting:
            raise ProblemError(BUSY)
        own = _Waiting(concepts, options)
        self._queue[own] = None
        self.waiting += len(concepts)
        try:
            async with self._turn:
                if own in self._queue:  # not answered together with an earlier request
                    await self._answer_batch(own)
        finally:
            self._queue.pop(own, None)
            self.waiting -= len(concepts)
        return own.answers

    async def _answer_batch(self, first: _Waiting) -> None:
        """Answer a request, and all later ones with its options that fit in one call."""
        batch = []
        room = max(MAX_BATCH, len(first.concepts))
        for request in self._queue:
            if request.options == first.options and len(request.concepts) <= room:
                batch.append(request)
                room -= len(request.concepts)
        concepts = [concept for request in batch for concept in request.concepts]
        began = time.monotonic()
        loop = asyncio.get_running_loop()
        call = loop.run_in_executor(self._thread, self.answer, concepts, first.options)
        answers = iter(await call)
        for request in batch:
            request.answers += islice(answers, len(request.concepts))
            self._queue.pop(request, None)  # its client may have gone
        self.on_batch(len(concepts), time.monotonic() - began)


@dataclass(frozen=True)
class PlacedQuery:
    """The suggestions for one concept, or the existing concepts that already have its name."""

    concept: Concept
    known: tuple[int, ...]
    suggestions: Sequence[Suggestion]


class Suggester:
    """The concept placement of the service: one model, one batch at a time."""

    def __init__(self, model: TaxoExpan, max_waiting: int) -> None:
        self.model = model
        self._names = concepts_by_name(model.taxonomy)
        self.min_branch = branch_threshold(model.calibrators)
        self.batcher = RequestBatcher(self._suggest_each, max_waiting)

    def warm_up(self) -> PlacedQuery:
        """Place one concept, so that the first request does not wait for lazy computations."""
        concept = Concept("", "cashew milk")
        return PlacedQuery(concept, (), self._suggest_each([concept], SuggestOptions(top_k=3))[0])

    def named(self, name: str) -> tuple[int, ...]:
        """Return the indices of the concepts with a name; labels take precedence over synonyms."""
        return self._names.get(normalize_name(name), ())

    async def suggest(
        self, concepts: Sequence[Concept], options: SuggestOptions
    ) -> list[PlacedQuery]:
        """Return the result of each concept, or refuse all if too many are waiting."""
        known = [self.named(concept.label) for concept in concepts]
        new = [concept for concept, found in zip(concepts, known, strict=True) if not found]
        ranked = iter(await self.batcher.submit(new, options))
        return [
            PlacedQuery(concept, found, () if found else next(ranked))
            for concept, found in zip(concepts, known, strict=True)
        ]

    def _suggest_each(
        self, concepts: Sequence[Concept], options: SuggestOptions
    ) -> list[list[Suggestion]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about a batch, not about a request
            return self.model.suggest_each(concepts, options)


@dataclass(frozen=True)
class ServiceLimits:
    """The limits that can be set on the command line."""

    max_concepts: int = 100
    """Concepts in one request."""
    max_waiting: int = 1_000
    """Concepts that may wait to be placed."""
    max_requests: int = 256
    """Requests that are answered at the same time."""
    max_body: int = 4 << 20
    """Bytes of a request."""


@dataclass(frozen=True)
class ServiceState:
    """A model that is ready to serve requests."""

    name: str
    """The name of the model's directory."""
    taxonomy: Taxonomy
    suggester: Suggester
    index: NameIndex
    limits: ServiceLimits
    example: PlacedQuery
    """An answer for the OpenAPI description."""

    @classmethod
    def of(cls, model: TaxoExpan, name: str, limits: ServiceLimits) -> ServiceState:
        """Prepare a model, so that the first request is as fast as the others."""
        suggester = Suggester(model, limits.max_waiting)
        example = suggester.warm_up()
        index = NameIndex.of(model.taxonomy)
        return cls(name, model.taxonomy, suggester, index, limits, example)
