"""Joint placement: a batch of new concepts in which some may be the parents of others.

`placement` scores all pairs of a batch and places it; `arborescence` finds the best
tree. `prior_learning` learns the new-parent prior from subtrees that it removes. Import from the
modules; nothing is exported here.
"""
