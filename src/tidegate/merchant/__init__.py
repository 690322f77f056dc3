"""Businesses, their keys and settings, and authentication."""
