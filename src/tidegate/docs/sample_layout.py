"""How samples of any language are laid out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.docs.client_call import AnswerPath, ClientCall

# A line that is longer is broken.
LINE_MAX = 50


def laid_out(head: str, parts: Sequence[str], tail: str, *, indent: str, before: int = 0) -> str:
    """In one line if that is short, with what stands before it; else a line for each part."""
    line = f"{head}{', '.join(parts)}{tail}"
    if not parts or (before + len(line) <= LINE_MAX and "\n" not in line):
        return line
    inner = "".join(f"{indent}{part},\n".replace("\n", f"\n{indent}").removesuffix(indent) for part in parts)
    return f"{head.rstrip()}\n{inner}{tail.lstrip()}"


def awaited(call: ClientCall) -> AnswerPath:
    """What is empty until it is there: the list with the value, or the value itself."""
    path = next(iter(call.takes.values()))
    return path.list or path
