"""The command line: one file a command; what is heavy is imported when it is needed."""
