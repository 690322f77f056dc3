"""Portable documents: text in many scripts, rules and pictures on pages. No business words."""
