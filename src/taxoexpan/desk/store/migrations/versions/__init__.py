"""The versions of the tables, oldest first by `down_revision`."""
