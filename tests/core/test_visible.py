from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.cli.console import print_json, print_record
from tidegate.core.visible import visible

CONTROLS = "\x00\x07\x1b\x7f\x9b\u061c\u200e\u200f\u2028\u202e\u2066\u2069"


def test_each_control_is_shown_as_its_escape() -> None:
    assert visible("a\x1b[2J\u202eb") == "a\\u001b[2J\\u202eb"
    assert not set(visible(CONTROLS)) & set(CONTROLS)


def test_what_people_write_stays() -> None:
    text = "Ọlá نازنین\u200c‌ها 😀👩\u200d🔧 d'Ávila\u00a0& Söhne"
    assert visible(text) == text
    assert visible("a\n\tb", keep="\n\t") == "a\n\tb"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_reads_the_escapes_back(text: str) -> None:
    written = json.dumps(text, ensure_ascii=False)
    assert json.loads(visible(written)) == text


@pytest.mark.parametrize("write", [print_json, print_record])
def test_json_of_the_command_line_has_no_raw_control(write: object, capsys: pytest.CaptureFixture[str]) -> None:
    write({"name": f"Ada{CONTROLS}"})  # type: ignore[operator]
    said = capsys.readouterr().out
    assert not set(said) & set(CONTROLS)
    assert json.loads(said) == {"name": f"Ada{CONTROLS}"}
