"""A server for assistants (Model Context Protocol): tools that read a model's taxonomy."""
