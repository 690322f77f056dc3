"""`make chaos`: the product's processes under load and faults, and a model of everything that was acknowledged."""
