"""Four eyes: what lets money out is asked for by one person and allowed by another."""
