"""Whether the ids of a template fit a taxonomy."""

from __future__ import annotations

import re
from dataclasses import replace

from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy.curies import OBO_BASE, is_long, obo_iri
from taxoexpan.taxonomy.id_policy import IdPolicy, IdTemplate
from taxoexpan.taxonomy.ids import common_prefix
from taxoexpan.taxonomy.taxonomy import Taxonomy

_BLANK = re.compile(r"\s")
_CURIE = re.compile(r"(?P<prefix>[A-Za-z][\w.-]*):(?P<local>.+)")


def fitting_policy(taxonomy: Taxonomy, policy: IdPolicy) -> IdPolicy:
    """Return the policy; a template of OBO ids is expanded if the taxonomy has OBO IRIs.

    A template whose ids would be no IRIs, or have blanks, unlike those of the taxonomy, is an
    error.
    """
    template, ids = policy.template, taxonomy.ids
    if template is None:
        return policy
    if _BLANK.search(template.text) and not any(map(_BLANK.search, ids)):
        raise _error(
            template, "gives ids with blanks, which no id has", _BLANK.sub("", template.text)
        )
    if template.text.startswith("{parent}") or is_long(template.text):
        return policy
    iris = [id for id in ids if is_long(id)]
    if len(iris) * 2 <= len(ids):
        return policy
    curie = _CURIE.fullmatch(template.text)
    if curie and sum(id.startswith(OBO_BASE) for id in iris) * 2 > len(ids):
        return replace(policy, template=IdTemplate(obo_iri(curie["prefix"], curie["local"])))
    local = curie["local"] if curie else template.text
    right = (common_prefix(iris) or "http://example.org/") + local
    raise _error(template, "gives no IRIs, but the ids of the taxonomy are IRIs", right)


def _error(template: IdTemplate, problem: str, right: str) -> ConfigurationError:
    message = f"the id template {template.text!r} {problem}"
    return ConfigurationError(f"{message}; for example, write {right!r}")
