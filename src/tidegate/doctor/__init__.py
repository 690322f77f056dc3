"""Checks of a deployment, each with advice for a failure."""
