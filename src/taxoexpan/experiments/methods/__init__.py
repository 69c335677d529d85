"""Every method that the paper compares with, behind the same two calls: fit and score."""
