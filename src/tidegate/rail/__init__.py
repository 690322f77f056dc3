"""Rails: how money really moves. `interface.py` is what a rail must offer, in our words."""
