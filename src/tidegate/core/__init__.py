"""Pure types and rules: money, methods, fees, identifiers, time, refusals. Imports no other package of Tidegate."""
