"""A small shop that uses the Tidegate Python client like any merchant would: `make demo`."""
