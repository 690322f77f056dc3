"""Schemathesis against the generated OpenAPI: no server error, no accepted invalid input, no answer off the schema."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from xml.etree import ElementTree

from build import Shop, make_shop
from process import api
from tidegate.app import operations_of
from tidegate.infra.db import Database
from tidegate.infra.http import openapi
from tidegate.infra.http.operation import encode
from tidegate.runtime import Runtime
from tidegate.settings import Settings

EXAMPLES = 5
# Rules between fields (the currency's methods, card numbers) refuse what the schema alone allows.
REFUSED_BY_RULES = "positive_data_acceptance"


async def test_the_api_keeps_to_its_schema(make_database: Callable[[str], Awaitable[str]], tmp_path: Path) -> None:
    """In a process of its own: to load schemathesis and this document takes longer than most tests."""
    operations = operations_of(Runtime.of(Settings()))
    document = tmp_path / "openapi.json"
    document.write_bytes(encode(openapi.document(operations, title="Tidegate", server_url="http://localhost")))
    report = tmp_path / "report.xml"
    url = await make_database("tidegate_test_fuzz")
    database = Database(url)
    await database.open()
    limits = {"rate_per_second": 100_000, "rate_burst": 100_000}
    shop: Shop = await make_shop(database, client=None, **limits)  # type: ignore[arg-type]
    await database.close()
    with api(url) as (base_url, _):
        run = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", document, "--url", base_url, "--no-color"),
            *(f"--header={name}: {value}" for name, value in {**shop.create_headers, **shop.verify_headers}.items()),
            *("--phases=coverage,fuzzing", f"--max-examples={EXAMPLES}", "--generation-deterministic"),
            *(f"--exclude-checks={REFUSED_BY_RULES}", "--suppress-health-check=all"),
            *("--report=junit", f"--report-junit-path={report}"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await run.communicate()
    assert run.returncode == 0, printed.decode()
    tried = {case.get("name") for case in ElementTree.parse(report).iter("testcase")}
    assert tried == {f"{operation.method} {operation.path}" for operation in operations}
