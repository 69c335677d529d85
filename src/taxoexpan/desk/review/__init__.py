"""The review pages: a queue of new concepts, their proposals, and the curator's decisions."""
