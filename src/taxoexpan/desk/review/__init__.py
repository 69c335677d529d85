"""The review pages: a queue of new concepts, their proposals, and the curator's decisions.

`app` maps addresses to the functions of `queue`, `concept`, `decisions`, `bulk`, `exports` and
`pages`, which share the `ReviewDesk` in `desk`.
"""
