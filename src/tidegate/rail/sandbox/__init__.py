"""The sandbox's rail: it behaves like the outside world, remembers in tables of its own, and tells in its own time."""

from tidegate.rail.sandbox.rail import SandboxRail

__all__ = ["SandboxRail"]
