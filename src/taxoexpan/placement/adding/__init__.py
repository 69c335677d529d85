"""Adding: from suggestions to a taxonomy that has grown.

`acceptance` says which suggestions are accepted, and `additions` turns them into additions that are
safe. `parent_lookup` reads a table that a person has decided on. Import from the
modules; nothing is exported here.
"""
