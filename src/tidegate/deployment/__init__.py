"""The mode of a database, fixed once: test money and real money never share a database."""
