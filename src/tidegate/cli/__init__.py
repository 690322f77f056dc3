"""The command line. Every command has --help; commands for scripts have --json."""

from tidegate.cli.main import main

__all__ = ["main"]
