"""The same request, sent twice, has one effect and one answer."""
