"""The hosted page in a dialog of the shop's own page: `/checkout/v1.js`, and the page as it stands in a frame."""
