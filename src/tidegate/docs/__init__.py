"""The documentation site: guides from Markdown, a page for each operation and event, /openapi.json for programs."""
