"""pawaPay: mobile money by prompt, in five countries."""

from tidegate.rail.pawapay.rail import PawapayRail

__all__ = ["PawapayRail"]
