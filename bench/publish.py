"""`python -m bench.publish`: puts the tables and the picture of the latest run into docs/performance.md."""

from __future__ import annotations

import sys

from bench.markdown import DIVIDER
from bench.process import REPOSITORY
from bench.report import PICTURE, TABLES

DOCUMENT = REPOSITORY / "docs" / "performance.md"
# Each part of the tables stands between two of these.
MARKS = ("<!-- numbers -->", "<!-- cpu -->")


def main() -> None:
    if not (TABLES.exists() and PICTURE.exists()):
        sys.exit("There is no run yet; `make bench` makes one.")
    text = DOCUMENT.read_text(encoding="utf-8")
    for mark, part in zip(MARKS, TABLES.read_text(encoding="utf-8").split(DIVIDER), strict=True):
        before, _, after = text.split(mark)
        text = mark.join((before, f"\n\n{part.strip()}\n\n", after))
    DOCUMENT.write_text(text, encoding="utf-8")
    DOCUMENT.with_suffix(".svg").write_bytes(PICTURE.read_bytes())


if __name__ == "__main__":
    main()
