"""Decisions: what is suggested for new concepts, what is decided, and what is added.

Nothing here needs a model or torch. In the order of a decision's journey:

- a `suggestion` is what a model says, and `suggestions` groups them by concept; `columns` says how
  its values are written;
- `suggestion_tables` reads and writes CSV and Parquet, and `parent_lookup` finds the parents that a
  person has named;
- `policies` choose suggestions, and `coarse_places` are those further up that are sure;
- a `decision` is what is done with one concept, by a person or a policy;
- `additions` turns decisions into safe changes of a taxonomy with their source, and `applying`
  writes them to a file, as far as it can hold them, or as a list of changes;
- `feedback` is what a model learns from decisions.
"""
