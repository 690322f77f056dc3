"""The command line. Every command helps with --help; those a script would read speak JSON with --json."""

from tidegate.cli.main import main

__all__ = ["main"]
