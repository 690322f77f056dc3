"""The merchant's dashboard: pages drawn on the server that call the commands of API and command line."""
