"""Received money on its way back to whoever sent it: asked for, sent to its rail, confirmed by it."""
