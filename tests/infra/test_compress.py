"""Pages put together from pieces that were compressed at different times are ordinary gzip."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import subprocess
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jinja2 import Environment

from infra.page_world import STYLE, browser_at, in_a_browser, site_of, visiting
from tidegate.infra.page.answer import GZIP_BYTES_MIN, Html
from tidegate.infra.page.compress import Constant, Piece, accepts_gzip, gzip_of, plain_of, splice
from tidegate.infra.page.door import Visit

unhurried = settings(deadline=None)

# Text that repeats, within a piece and over its edges, so that a compressor finds matches to get wrong.
PLAIN = st.binary(max_size=300) | st.sampled_from([b"", b"<p>again and again</p>" * 40, b"a" * 40_000, bytes(256) * 9])
PIECES = st.lists(PLAIN | PLAIN.map(Constant), max_size=8)
LARGE: list[Piece] = [b"<!doctype html><style>", STYLE, b"</style>" + b"<p class=c7>seven</p>" * 500, STYLE, b"end"]


@unhurried
@given(PIECES)
@example([])
@example([Constant(b"")])
@example([Constant(b"x"), Constant(b"x"), Constant(b"y")])
@example([b"x" * 70_000, Constant(b"x" * 70_000), b"x" * 70_000])
@example(LARGE)
def test_it_is_one_gzip_member_of_everything(pieces: list[Piece]) -> None:
    packed = gzip_of(pieces)
    assert gzip.decompress(packed) == plain_of(pieces)
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert reader.decompress(packed) == plain_of(pieces)
    # The member ended, with its checksum, and nothing was left over.
    assert reader.eof
    assert reader.unused_data == b""


@unhurried
@given(PIECES, st.data())
def test_a_damaged_page_is_noticed(pieces: list[Piece], data: st.DataObject) -> None:
    packed = bytearray(gzip_of(pieces))
    at = data.draw(st.integers(len(packed) - 8, len(packed) - 1))
    packed[at] ^= 1
    with pytest.raises((zlib.error, gzip.BadGzipFile)):
        gzip.decompress(bytes(packed))


def test_a_slow_reader_gets_the_same() -> None:
    """Byte by byte, as the network may bring it."""
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    packed = gzip_of(LARGE)
    assert b"".join(reader.decompress(packed[i : i + 1]) for i in range(len(packed))) == plain_of(LARGE)


@pytest.mark.skipif(shutil.which("gzip") is None, reason="there is no gzip command here")
def test_the_gzip_command_reads_it() -> None:
    unpacked = subprocess.run(["gzip", "-dc"], input=gzip_of(LARGE), capture_output=True, check=True)
    assert unpacked.stdout == plain_of(LARGE)
    assert unpacked.stderr == b""


def test_what_never_changes_is_compressed_once() -> None:
    assert STYLE.block in gzip_of([b"before", STYLE, b"after"])
    assert len(STYLE.block) < len(STYLE.content) / 2


def test_it_is_hardly_larger_than_gzip_of_the_whole() -> None:
    assert len(gzip_of(LARGE)) < len(gzip.compress(plain_of(LARGE))) + len(STYLE.block) + 100


# Templates.


def test_a_template_writes_a_constant_like_any_value() -> None:
    template = Environment(autoescape=True).from_string("<style>{{ css }}</style>{{ name }}<i>{{ css }}{{ other }}</i>")
    css, other = Constant(b"p>a{content:'<\xc3\xa9'}"), Constant(b"")
    text = template.render(css=css, other=other, name="<é>")
    pieces = splice(text, [css, other])
    assert [piece for piece in pieces if isinstance(piece, Constant)] == [css, css, other]
    assert plain_of(pieces).decode() == "<style>p>a{content:'<é'}</style>&lt;é&gt;<i>p>a{content:'<é'}</i>"


def test_a_constant_that_was_not_handed_over_is_an_error_and_not_a_hole() -> None:
    css = Constant(b"p{}")
    with pytest.raises(KeyError):
        splice(f"<style>{css.__html__()}</style>", [])


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_without_constants_stays_as_it_is(text: str) -> None:
    assert plain_of(splice(text, [STYLE])).decode() == text


# Who wants it.


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([], False),
        ([b""], False),
        ([b"gzip"], True),
        ([b"gzip, deflate, br, zstd"], True),
        ([b"br", b"gzip"], True),
        ([b"GZip"], True),
        ([b"deflate, br"], False),
        ([b"*"], True),
        ([b"gzip;q=0"], False),
        ([b"gzip; q=0.000, *"], False),
        ([b"*;q=0"], False),
        ([b"*;q=0, gzip"], True),
        ([b"gzip;q=0.001"], True),
        ([b"gzip ; Q = 0.5"], True),
        ([b"identity, gzip;q=0.5"], False),
        ([b"identity;q=0.5, gzip;q=0.5"], True),
        ([b"identity;q=0, gzip"], True),
        ([b"gzip;q=2"], False),
        ([b"gzip;q=-1"], False),
        ([b"gzip;q=nan"], False),
        ([b"gzip;level=9"], False),
        ([b"gzip;q=0, gzip"], False),
        ([b"xgzip"], False),
        ([b",,gzip,,"], True),
        ([b"\xff\x00, gzip"], True),
        ([b"gzip" + b" " * 9_000 + b"x"], False),
    ],
)
def test_accept_encoding(values: list[bytes], wanted: bool) -> None:
    assert accepts_gzip(values) is wanted


@given(st.lists(st.binary(max_size=60) | st.text("gzip;q=01.,* identy", max_size=40).map(str.encode), max_size=3))
def test_any_accept_encoding_is_read(values: list[bytes]) -> None:
    assert accepts_gzip(values) in (True, False)


async def show(visit: Visit) -> Html:
    return Html([b"<!doctype html><title>t</title><style>", STYLE, b"</style><p>Here it is, whole.</p>"])


async def show_little(visit: Visit) -> Html:
    return Html([b"x" * (GZIP_BYTES_MIN - 1)])


@pytest.mark.parametrize(("asked", "coding"), [("gzip", "gzip"), ("gzip;q=0", None), ("br", None), ("};;=,~", None)])
async def test_a_page_goes_out_as_the_browser_asked(asked: str, coding: str | None) -> None:
    async with visiting(lambda _: site_of(("GET", "/", show))) as client:
        answer = await client.get("/", headers={"accept-encoding": asked})
    assert answer.headers.get("content-encoding") == coding
    assert answer.headers["vary"] == "accept-encoding"
    assert "Here it is, whole." in answer.text
    assert STYLE.content.decode() in answer.text


async def test_a_short_page_stays_as_it_is() -> None:
    async with visiting(lambda _: site_of(("GET", "/", show_little))) as client:
        answer = await client.get("/", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-length"] == str(GZIP_BYTES_MIN - 1)


@in_a_browser
async def test_a_real_browser_reads_it() -> None:
    """A script at its end sends back what the browser made of it."""
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def show_and_ask(visit: Visit) -> Html:
        script = (
            "const form = document.forms[0];"
            "form.seen.value = document.styleSheets[0].cssRules.length + document.querySelector('p').textContent;"
            "form.submit()"
        )
        start = f"<!doctype html><style nonce={visit.nonce}>".encode()
        end = f"<form method=post><input name=seen></form><script nonce={visit.nonce}>{script}</script>".encode()
        return Html([start, STYLE, b"</style><p>Here it is, whole.</p>", end])

    async def listen(visit: Visit) -> Html:
        told.set_result(visit.form["seen"])
        return Html([])

    async with visiting(lambda _: site_of(("GET", "/", show_and_ask), ("POST", "/", listen))) as client:
        packed = await client.get("/")
        assert packed.headers["content-encoding"] == "gzip"
        async with browser_at(str(client.base_url)):
            assert await told == "300Here it is, whole."
