"""The daily file of the European Central Bank."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path

import pytest

from cli.operating import Operator
from tidegate.infra.db import Database
from tidegate.rail.bankfiles.ecb import rates_in
from tidegate.rail.bankfiles.model import FileRefused

FILE = """<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01"
 xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><gesmes:subject>Reference rates</gesmes:subject>
<Cube><Cube time="2026-11-13"><Cube currency="USD" rate="1.0842"/><Cube currency="JPY" rate="163.2"/>
<Cube currency="ZAR" rate="19.5156"/></Cube></Cube></gesmes:Envelope>"""


def test_rates_are_from_each_currency_of_an_account() -> None:
    found = {f"{one.base}/{one.quote}": one.rate for one in rates_in(io.BytesIO(FILE.encode()))}
    assert found["EUR/USD"] == Decimal("1.0842")
    assert found["EUR/ZAR"] == Decimal("19.5156")
    assert found["USD/EUR"] == Decimal("0.92233905")
    assert found["USD/ZAR"] == Decimal("18.000000")
    assert len(found) == 4


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("2026-11-13", "yesterday", "is no date"),
        ("1.0842", "one", "is no rate"),
        ("1.0842", "-1", "is no rate"),
        ("time=", "day=", "exactly one day"),
        ("</Cube></Cube>", "", "line"),
        ("<gesmes:Envelope", "<!DOCTYPE x [<!ENTITY e 'e'>]><gesmes:Envelope", "document type"),
        ("Reference rates", "x" * 1_100_000, "more than"),
    ],
)
def test_another_file_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(FileRefused, match=why):
        rates_in(io.BytesIO(FILE.replace(old, new, 1).encode()))


async def test_an_operator_imports_it(db: Database, database_url: str, tmp_path: Path) -> None:
    operator = Operator(database_url, tmp_path)
    path = tmp_path / "eurofxref-daily.xml"
    path.write_text(FILE)
    assert "1 EUR is worth 1.0842 USD" in await operator.said("rate", "import", str(path), "--spread-percent", "0.5")
    listed = {f"{one['base']}/{one['quote']}": one for one in await operator.json("rate", "list")}
    assert listed["EUR/USD"]["source"] == "ecb"
    path.write_text("<html/>")
    assert "exactly one day" in await operator.refused("rate", "import", str(path))
