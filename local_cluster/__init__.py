"""A cluster of PostgreSQL servers with Citus on this machine, for `make cluster`, tests and the benchmark."""
