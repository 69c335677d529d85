"""A serializer for schemathesis: the fields of a form that are JSON are sent as JSON.

Schemathesis 4.32 does not look at the encoding of the fields in the OpenAPI description of a form,
and spreads objects over several fields. For its command line, name this module in the variable
SCHEMATHESIS_HOOKS.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import schemathesis

FORM = "application/x-www-form-urlencoded"


def write_form(context: schemathesis.SerializationContext, _: Any) -> bytes:
    """Write a form as the description of its route says."""
    case = context.case
    form = case.operation.get_body_for_media_type(FORM)
    encoding = form.definition.get("encoding", {}) if form else {}
    if not isinstance(case.body, dict):
        return json.dumps(case.body).encode()
    fields = {
        name: json.dumps(value) if name in encoding or not isinstance(value, str) else value
        for name, value in case.body.items()
    }
    return urlencode(fields).encode()


schemathesis.serializer(FORM)(write_form)
