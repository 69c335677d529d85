"""The shared parts of both servers: access control, protections, error responses, the server."""
