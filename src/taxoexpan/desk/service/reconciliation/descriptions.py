"""Descriptions for reconciliation clients: the service's manifest, and previews of concepts."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import version
from typing import Any

from taxoexpan.desk.service.reconciliation.candidates import (
    CONCEPT_TYPE,
    PARENT_TYPE,
)
from taxoexpan.desk.service.suggester import ServiceState
from taxoexpan.desk.web.access import TOKEN_PARAMETER, Access
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy

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


MAX_NAMES = 5
MAX_TEXT = 400

STYLE = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:10px;color:#222;background:#fff}"
    "h1{font-size:16px;margin:0 0 4px}p{margin:0 0 6px}.path{color:#555}"
)
_HASH = base64.b64encode(sha256(STYLE.encode()).digest()).decode()
PREVIEW_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'"
"""The page has one style and nothing else; unlike other pages, it may be shown in a frame."""


def preview_page(taxonomy: Taxonomy, index: int) -> str:
    """Return a page about a concept."""
    title = escape(taxonomy.labels[index])
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    body = _content(taxonomy, index)
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>{body}</body></html>\n"


def flyout_html(taxonomy: Taxonomy, index: int) -> str:
    """Return the same content without a page around it."""
    return f"<div>{_content(taxonomy, index)}</div>"


def _content(taxonomy: Taxonomy, index: int) -> str:
    concept = taxonomy.concept_at(index)
    children = [taxonomy.labels[i] for i in taxonomy.children_of.of(index).tolist()]
    path = " › ".join(taxonomy.path(concept.id))
    parts = [f'<h1 dir="auto">{_text(concept.label)}</h1>']
    parts += [f'<p class="path" dir="auto">{_text(path)}</p>']
    if concept.definition:
        parts += [f'<p dir="auto">{_text(concept.definition)}</p>']
    if concept.synonyms:
        parts += [f'<p dir="auto">Synonyms: {_names(concept.synonyms)}</p>']
    if children:
        parts += [
            f'<p dir="auto">{pluralize(len(children), "narrower concept")}: {_names(children)}</p>'
        ]
    parts += [f"<p>Id: <code>{_text(concept.id)}</code></p>"]
    return "".join(parts)


def _names(names: list[str] | tuple[str, ...]) -> str:
    more = ", …" if len(names) > MAX_NAMES else ""
    return ", ".join(map(_text, names[:MAX_NAMES])) + more


def _text(text: str) -> str:
    """Return a text as HTML, shortened."""
    return escape(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…")
