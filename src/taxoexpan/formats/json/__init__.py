"""JSON: a parser that keeps positions, an editor, and the format with all known schemas.

`parser`, `document` and `editor` serve all formats of JSON; the other modules are parts of
`json_format`.
"""
