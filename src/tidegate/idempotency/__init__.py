"""The same request twice has one effect and one answer."""
