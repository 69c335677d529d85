"""What is learned from held-out concepts, besides the network.

`calibrators` keeps all of it: the weights of the `fusion`, `confidence` (fitted by `calibration`),
`abstention`, `duplicates` and `new_parent_prior`; `regression` fits some of them. Import from the
modules; nothing is exported here.
"""
