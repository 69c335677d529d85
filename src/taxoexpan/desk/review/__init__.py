"""The review pages: a queue of new concepts, their proposals, and the curator's decisions.

`review_app` maps addresses to the `*_routes` modules, which answer requests with the templates. A
`ReviewDesk` holds what all of them need: the store, the taxonomy and the model's reasons.
"""
