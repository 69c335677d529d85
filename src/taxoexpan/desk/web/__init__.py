"""What the review pages and the service share: access, limits, security headers.

`server` runs an app, and `protection` puts the other modules around it.
"""
