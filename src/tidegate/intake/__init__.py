"""Notifications from rails: verified, recorded once, routed. Everything received is recorded."""
