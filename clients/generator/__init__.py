"""Writes the clients' types and methods from the OpenAPI document: `make clients`."""
