"""Joint placement of a batch of new concepts, some of which may be parents of others.

`placement` scores all pairs of a batch and finds the best tree; `prior_learning` learns the
new-parent prior from removed subtrees.
"""
