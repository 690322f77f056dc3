"""`make failover`: two databases behind one address, and the loss of one of them under load."""
