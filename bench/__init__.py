"""How fast Tidegate is, measured against what it is built on, on the same machine in the same minute."""
