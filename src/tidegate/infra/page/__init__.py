"""Pages made here: headers, cookies, forms, compression and files, so that a handler only says what to show."""
