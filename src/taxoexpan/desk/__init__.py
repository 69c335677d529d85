"""The curator's desk: the decision store, the review pages, and the service.

`store` keeps decisions, `web` is what both servers share, `review` shows suggestions and takes
decisions in the browser, and `service` answers other programs.
"""
