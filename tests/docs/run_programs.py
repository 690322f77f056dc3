"""Runs programs one after the other, each as if alone. Before what each of them prints stands a NUL."""

from __future__ import annotations

import runpy
import sys
import traceback

for path in sys.argv[1:]:
    print("\0", end="")
    try:
        runpy.run_path(path, run_name="__main__")
    except BaseException:
        traceback.print_exc(file=sys.stdout)
