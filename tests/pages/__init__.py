"""A package, unlike the other folders, because it has a conftest.py of its own beside the one above it."""
