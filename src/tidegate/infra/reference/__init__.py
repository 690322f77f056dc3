"""The API reference, made from the table of operations: /openapi.json for programs, /docs for people."""
