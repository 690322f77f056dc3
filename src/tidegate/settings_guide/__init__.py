"""What each setting is for: one row each, in the order of the file that `tidegate init` writes."""
