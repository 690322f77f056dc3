"""Links that any payer may pay by: each opening that is submitted makes an ordinary payment."""
