"""The review pages: a queue of new concepts, their proposals, and the curator's decisions.

`app` maps addresses to the functions that answer them: `queue` (the main page), `concept` (panels,
searches, trees and reasons), `decisions` (forms), `bulk`, `exports`, and `pages` (history and
help), which renders them all with the templates. Texts are in the templates. A `ReviewDesk` in
`desk` holds what all of them need, and fills the queue; `filters` are the parameters of an address.
"""
