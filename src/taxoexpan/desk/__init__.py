"""The curator's desk: the decision store, the review pages, the service, and the MCP server."""
