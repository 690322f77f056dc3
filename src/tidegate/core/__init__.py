"""Pure words and rules: money, methods, fees, identifiers, time, refusals. Imports nothing of ours."""
