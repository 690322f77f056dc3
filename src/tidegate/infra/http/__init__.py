"""One table of operations becomes the routes and the OpenAPI document."""
