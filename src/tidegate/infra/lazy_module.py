"""Modules that are loaded when something of them is first used, for what few processes need and takes much memory.

if TYPE_CHECKING:
    from lxml import etree
else:
    etree = LazyModule("lxml.etree")  # 4 MB, for banks' files only
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found
