"""The manifest: what the reconciliation service offers, and where."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from taxoexpan.desk.service.reconciliation.reconciliation_candidates import (
    CONCEPT_TYPE,
    PARENT_TYPE,
)
from taxoexpan.desk.service.service_state import ServiceState
from taxoexpan.desk.web.access import TOKEN_PARAMETER, Access

PREVIEW_SIZE = {"width": 420, "height": 220}
SCHEMA_SPACE = "http://www.w3.org/2004/02/skos/core#Concept"
LOCAL_SPACE = "urn:taxoexpan:concept:"
"""The identifier space of taxonomies whose ids are not IRIs."""


def build_manifest(state: ServiceState, access: Access, base: str) -> dict[str, Any]:
    """Return the manifest of a service whose endpoint has the URL `base`."""
    manifest: dict[str, Any] = {
        "versions": ["0.2"],
        "name": f"taxoexpan: {state.name}",
        "identifierSpace": identifier_space(state.taxonomy.ids),
        "schemaSpace": SCHEMA_SPACE,
        "defaultTypes": [CONCEPT_TYPE, PARENT_TYPE],
        "serviceVersion": version("taxoexpan"),
        "batchSize": state.limits.max_concepts,
        "view": {"url": f"{base}/preview?id={{{{id}}}}"},
        "preview": {"url": f"{base}/preview?id={{{{id}}}}", **PREVIEW_SIZE},
        "suggest": {
            "entity": {
                "service_url": base,
                "service_path": "/suggest/entity",
                "flyout_service_path": "/flyout/entity?id=${id}",
            },
            "property": {"service_url": base, "service_path": "/suggest/property"},
            "type": {"service_url": base, "service_path": "/suggest/type"},
        },
    }
    if access.token is not None:
        manifest["authentication"] = {"type": "apiKey", "name": TOKEN_PARAMETER, "in": "query"}
    return manifest


def identifier_space(ids: Sequence[str]) -> str:
    """Return what all ids begin with, if they are IRIs, up to the last / or #."""
    low, high = min(ids, default=""), max(ids, default="")
    pairs = enumerate(zip(low, high, strict=False))
    common = low[: next((i for i, (one, other) in pairs if one != other), len(low))]
    end = max(common.rfind("/"), common.rfind("#")) + 1
    is_space = common.startswith(("http://", "https://")) and end > len("https://")
    return common[:end] if is_space else LOCAL_SPACE
