"""Adding: from suggestions to a taxonomy that has grown.

`acceptance` says which suggestions are accepted, `additions` turns them into additions, and
`change_validation` leaves out what is unsafe. `parent_lookup` reads a table that a person has
decided on. Import from the modules; nothing is exported here.
"""
