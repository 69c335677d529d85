"""Adding: from suggestions to a taxonomy that has grown.

`decisions` says what is accepted: `selection` chooses, `acceptance` turns the choice into
additions, and `change_validation` leaves out what is unsafe. `parent_lookup` reads a table that a
person has decided on, and `merge_mappings` exports merges. Import from the modules; nothing is
exported here.
"""
