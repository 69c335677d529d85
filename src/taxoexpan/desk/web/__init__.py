"""What the review pages and the service share: access, limits, security headers."""
