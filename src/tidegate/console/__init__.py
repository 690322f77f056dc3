"""The operator's pages. They call the commands that the command line calls."""
