"""A rail's own statement beside our books: what is missing, extra, or different. Changes nothing."""
