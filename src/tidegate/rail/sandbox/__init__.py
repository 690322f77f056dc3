"""The sandbox's rail: simulates banks, cards and operators, keeps its state in its own tables, sends notifications."""

from tidegate.rail.sandbox.rail import SandboxRail

__all__ = ["SandboxRail"]
