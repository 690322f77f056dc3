"""Files from and to a bank: imported once, their entries recorded once, payments exported."""
