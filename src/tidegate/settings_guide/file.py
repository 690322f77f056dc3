"""The environment file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from textwrap import wrap

from tidegate.settings_guide.general import FIRST_SECTIONS, LAST_SECTIONS
from tidegate.settings_guide.model import SettingRow
from tidegate.settings_guide.rails import RAIL_SECTIONS

LINE_WIDTH = 110
SECTIONS = (*FIRST_SECTIONS, *RAIL_SECTIONS, *LAST_SECTIONS)


def environment_file(values: Mapping[str, str], *, rails: Collection[str]) -> str:
    """For systemd, containers and shells alike: plain NAME=value lines, so no value needs quotes."""
    lines = [
        "# Settings of Tidegate, made by `tidegate init`. Holds secrets: readable by its owner only.",
        "# A line that begins with # shows what holds without it. `tidegate doctor --deep` examines the whole.",
    ]
    for section in SECTIONS:
        is_used = section.rail is None or section.rail in rails
        lines += ["", f"# ---- {section.title} ----"]
        for row in section.rows:
            lines += ["", *wrap(row.meaning, LINE_WIDTH, initial_indent="# ", subsequent_indent="# ")]
            lines.append(_line(row, values, is_used=is_used))
    return "\n".join(lines) + "\n"


def _line(row: SettingRow, values: Mapping[str, str], *, is_used: bool) -> str:
    if row.live is None or not is_used:
        return f"#{row.name}={row.usual}"
    return f"{row.name}={row.live.format_map(values)}"
