"""What the review pages and the service share: access, protections, error answers, the server."""
