"""A page that was compressed before its values were known is ordinary gzip, with the values in it."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidegate.infra.page.compress import Constant
from tidegate.infra.page.drawing import Drawing
from tidegate.infra.page.mould import Mould, Piece, sections_of
from tidegate.infra.page.slot import Slots, split
from tidegate.infra.page.stand_in import stand_ins_for

unhurried = settings(deadline=None)
STYLE = Constant(b"p{color:red}" * 50)
VALUES = 5
# Text that repeats, so that the compressor refers back, over values too.
TEXT = st.sampled_from([b"", b"=", b'<input name="token" value="', b'"></form>', b"<p>again</p>" * 30]) | st.binary(
    max_size=40
)
PIECES = st.lists(TEXT | st.integers(0, VALUES - 1) | st.just(STYLE), max_size=20)
# Long ones, values that look like the text around them, and values that look like each other.
VALUE = st.sampled_from([b"", b"0", b"00", b"<p>again</p>", b"a" * 64, b"x" * 70_000]) | st.binary(max_size=80)


def mould_of(pieces: list[Piece], values: int, *, lengths: dict[int, int]) -> Mould:
    return Mould(list(sections_of(pieces)), values, lengths=lengths)


def plain(pieces: list[Piece], values: list[bytes]) -> bytes:
    return b"".join(
        values[piece] if isinstance(piece, int) else piece.content if isinstance(piece, Constant) else piece
        for piece in pieces
    )


@unhurried
@given(PIECES, st.data())
def test_whatever_is_filled_in_comes_out(pieces: list[Piece], data: st.DataObject) -> None:
    first = data.draw(st.lists(VALUE, min_size=VALUES, max_size=VALUES))
    known = data.draw(st.sets(st.integers(0, VALUES - 1)))
    lengths = {number: len(first[number]) for number in known if len(first[number]) < 1_000}
    mould = mould_of(pieces, VALUES, lengths=lengths)
    for _ in range(3):
        values = [
            data.draw(st.binary(min_size=lengths[number], max_size=lengths[number]) if number in lengths else VALUE)
            for number in range(VALUES)
        ]
        assert mould.plain(values) == plain(pieces, values)
        assert gzip.decompress(mould.gzip(values)) == plain(pieces, values)


@unhurried
@given(st.lists(st.integers(1, 70), min_size=1, max_size=20), st.data())
def test_values_of_known_length_do_not_get_into_each_others_places(lengths: list[int], data: st.DataObject) -> None:
    """Each stands several times in the same surroundings, where a compressor would like to take one for another."""
    numbers = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=2, max_size=60))
    between = data.draw(st.sampled_from([b"", b'"', b'" value="', b"<b>"]))
    pieces: list[Piece] = [piece for number in numbers for piece in (between, number)]
    mould = mould_of(pieces, len(lengths), lengths=dict(enumerate(lengths)))
    values = [bytes([65 + number]) * length for number, length in enumerate(lengths)]
    assert gzip.decompress(mould.gzip(values)) == plain(pieces, values)


def test_a_value_that_stands_again_takes_hardly_any_room() -> None:
    pieces: list[Piece] = [b'<input name="token" value="', 0, b'"><button>'] * 40
    once = mould_of(pieces[:3], 1, lengths={0: 64}).gzip([b"-" * 64])
    assert len(mould_of(pieces, 1, lengths={0: 64}).gzip([b"-" * 64])) < len(once) + 40


def test_the_stand_ins_do_not_look_alike() -> None:
    made = stand_ins_for(dict.fromkeys(range(12), 30), unlike=b"abc")
    threes = [made[number][at : at + 3] for number in made for at in range(28)]
    assert len(made) == 12
    assert len(set(threes)) == len(threes)
    assert not set(b"abc") & set(b"".join(made.values()))


def test_without_free_bytes_there_are_no_stand_ins() -> None:
    assert stand_ins_for({0: 5, 1: 5}, unlike=bytes(range(256))) == {}
    assert stand_ins_for({0: 5, 1: 5}, unlike=bytes(range(254))) == {}


@unhurried
@given(st.binary(max_size=300), st.integers(0, 2**32 - 1))
@example(b"", 0)
def test_a_constant_knows_what_it_makes_of_a_checksum(content: bytes, before: int) -> None:
    assert Constant(content).checksum_after(before) == zlib.crc32(content, before)


# Slots.


def greeting(name: str) -> str:
    return f"Hello {name}"


def test_a_slot_is_written_and_found_again() -> None:
    slots = Slots()
    text = f"<p>{slots.of(greeting)}</p>{slots.of(str)}{slots.of(greeting)}"
    assert list(split(text)) == ["<p>", 0, "</p>", 1, "", 0, ""]
    assert [value("Ada") for value in slots.values.values()] == ["Hello Ada", "Ada"]


def test_a_change_of_a_slot_waits_for_the_value() -> None:
    slots = Slots()
    loud = slots.of(greeting).then(str.upper)
    assert list(split(loud + "!")) == ["", 1, "!"]
    assert slots.changes == {1: (0, str.upper)}
    assert slots.of(greeting).then(str.upper) is loud


@pytest.mark.parametrize("steady", [(), (greeting,), (greeting, str)])
def test_a_change_is_made_of_what_goes_into_the_slot(steady: tuple[object, ...]) -> None:
    slots = Slots()
    loud = slots.of(greeting).then(str.upper)
    text = f"{loud}, {slots.of(str)}, {loud.then(str.lower)}, {slots.of(greeting)}"
    drawing = Drawing(text, slots, [], steady=steady.__contains__)
    for name in ("Ada", "Eve", "Grace"):
        expected = f"HELLO {name.upper()}, {name}, hello {name.lower()}, Hello {name}".encode()
        filled = drawing.fill(name)
        assert filled.plain() == gzip.decompress(filled.gzip()) == expected


@pytest.mark.parametrize(
    "question",
    [
        bool, len, list, lambda slot: slot == "x", lambda slot: slot != "x", lambda slot: slot < "x",
        lambda slot: slot[0], lambda slot: "x" in slot, lambda slot: slot.startswith("x"), lambda slot: slot * 2,
        lambda slot: slot.encode(), lambda slot: slot % (), lambda slot: slot.replace("x", "y"),
        lambda slot: slot.strip(),
    ],
)  # fmt: skip
def test_nobody_can_ask_what_is_in_a_slot(question: object) -> None:
    with pytest.raises(TypeError):
        question(Slots().of(greeting))  # type: ignore[operator]
