"""Which mode a database belongs to, for ever: test money never meets real money."""
