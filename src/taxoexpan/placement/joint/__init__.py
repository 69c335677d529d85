"""Joint placement: a batch of new concepts in which some may be the parents of others.

`joint_placement.place_jointly` places a batch, and `prior_learning` learns the new-parent prior
that it uses. Import from the modules; nothing is exported here.
"""
