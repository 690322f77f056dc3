"""Compares a rail's statement with our books: missing, extra or different. Changes nothing."""
