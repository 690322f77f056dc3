"""Files for browsers: the right type, kept for ever, and never the wrong one."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from infra.page_world import visiting
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.page import static
from tidegate.infra.page.static import StaticFile

SITE = PublicUrl("https://pay.example.com/shop")
SCRIPT = b"'use strict'; // \xe2\x82\xa6\n" * 100
# Nothing in it repeats, so compressing makes it larger.
PICTURE = hashlib.sha512(b"noise").digest()


def file(name: str = "page.js", body: bytes = SCRIPT, media_type: str = "text/javascript; charset=utf-8") -> StaticFile:
    return StaticFile(name=name, body=body, media_type=media_type, folder="/pay/static", site=SITE)


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[httpx.AsyncClient]:
    files = [file(), file("dot.png", PICTURE, "image/png")]
    async with visiting(lambda _: [*static.routes(files)]) as opened:
        yield opened


def test_the_name_says_what_is_inside() -> None:
    assert re.fullmatch(r"/pay/static/page\.[0-9a-f]{16}\.js", file().path)
    assert file().path != file(body=SCRIPT + b" ").path
    assert file("a.b.min.js").path.startswith("/pay/static/a.b.min.")


def test_a_link_to_it_begins_where_a_proxy_has_put_us() -> None:
    assert file().url == f"/shop{file().path}"


def test_a_page_can_insist_on_its_content() -> None:
    digest = hashlib.new("sha384", SCRIPT).digest()
    assert file().integrity == "sha384-" + base64.b64encode(digest).decode()


async def test_it_is_sent_with_its_type_to_be_kept_for_ever(client: httpx.AsyncClient) -> None:
    answer = await client.get(file().path)
    assert answer.content == SCRIPT
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers.get_list("cache-control") == ["public, max-age=31536000, immutable"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(("asked", "coding"), [("gzip", "gzip"), ("identity", None), ("gzip;q=0", None)])
async def test_it_is_compressed_for_those_who_ask(client: httpx.AsyncClient, asked: str, coding: str | None) -> None:
    async with client.stream("GET", file().path, headers={"accept-encoding": asked}) as answer:
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert answer.headers.get("content-encoding") == coding
    assert answer.headers["vary"] == "accept-encoding"
    assert answer.headers["content-length"] == str(len(raw))
    assert (gzip.decompress(raw) if coding else raw) == SCRIPT


async def test_what_compressing_makes_larger_stays_as_it_is(client: httpx.AsyncClient) -> None:
    answer = await client.get(file("dot.png", PICTURE).path, headers={"accept-encoding": "gzip"})
    assert answer.content == PICTURE
    assert "content-encoding" not in answer.headers


async def test_head_has_the_headers_and_no_file(client: httpx.AsyncClient) -> None:
    answer = await client.head(file().path)
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["content-encoding"] == "gzip"


async def test_another_method_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(file().path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path",
    [
        "/pay/static/",
        "/pay/static/page.js",
        "/pay/static/page.0000000000000000.js",
        "/pay/static/../page.js",
        "/pay/static/%2e%2e/%2e%2e/etc/passwd",
    ],
)
async def test_there_is_nothing_else(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.headers["cache-control"] == "no-store"


# From a package.


def make_package(folder: Path, **names: bytes) -> str:
    (folder / "own_package" / "static" / "inner").mkdir(parents=True)
    (folder / "own_package" / "__init__.py").touch()
    for name, body in names.items():
        (folder / "own_package" / "static" / name.replace("_", ".")).write_bytes(body)
    return "own_package"


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_package", raising=False)
    return tmp_path


def test_the_files_of_a_package_s_folder_are_loaded(on_path: Path) -> None:
    package = make_package(on_path, page_css=b"p{}", page_js=b"1", dot_svg=b"<svg/>")
    files = static.load(package, "static", under="/pay/static", site=SITE)
    assert {name: (file.body, file.media_type) for name, file in files.items()} == {
        "page.css": (b"p{}", "text/css; charset=utf-8"),
        "page.js": (b"1", "text/javascript; charset=utf-8"),
        "dot.svg": (b"<svg/>", "image/svg+xml; charset=utf-8"),
    }


def test_a_file_whose_type_is_not_known_is_found_at_start(on_path: Path) -> None:
    package = make_package(on_path, notes_exe=b"")
    with pytest.raises(KeyError):
        static.load(package, "static", under="/pay/static", site=SITE)


def test_comments_and_white_space_are_not_sent(on_path: Path) -> None:
    script = b'// Why.\nif (a) {\n  // Why, again.\n  b("//");  // Beside code it stays.\n}\n'
    style = b"/* Why. */\np {\n  color: red;\n}\n"
    files = static.load(make_package(on_path, page_css=style, page_js=script), "static", under="/pay/static", site=SITE)
    assert files["page.js"].body == b'if (a) {\nb("//");  // Beside code it stays.\n}\n'
    assert files["page.css"].body == b"p{color:red;}"
