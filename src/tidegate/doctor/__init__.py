"""Is everything as it should be, and what to do if not."""
