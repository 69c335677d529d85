"""Adding: from suggestions to an expanded taxonomy.

`acceptance` decides which suggestions are accepted, `additions` turns them into safe additions, and
`parent_lookup` reads a table of a person's decisions.
"""
