"""Every language says everything, and nothing is asked for that no catalogue has."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from babel import Locale

from checkout.word_calls import Source, Use, uses_in_program, uses_in_template
from tidegate.checkout.language.catalog import LANGUAGES, catalog_for

CHECKOUT = Path(__file__).parents[2] / "src" / "tidegate" / "checkout"
CATALOGUES = sorted((CHECKOUT / "language").glob("*.toml"))
ENGLISH = catalog_for("en").texts

EDGE_BLANKS = re.compile(r"^\s|\s$|\s\s")
DIRECTION_SWITCHES = re.compile("[\u202a-\u202e\u2066-\u2069]")

each_language = pytest.mark.parametrize("language", [path.stem for path in CATALOGUES])


def texts_of(language: str) -> dict[str, str]:
    """As the translator wrote them."""
    return {key: text for key, text in flat(catalogue_of(language)) if not key.startswith("meta.")}


def catalogue_of(language: str) -> dict[str, Any]:
    return tomllib.loads((CHECKOUT / "language" / f"{language}.toml").read_text("utf-8"))


def flat(table: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, entry in table.items():
        if isinstance(entry, dict):
            yield from flat(entry, f"{above}{name}.")
        else:
            yield above + name, entry


# The catalogues among themselves


def test_every_language_has_a_catalogue() -> None:
    assert {path.stem for path in CATALOGUES} == set(LANGUAGES)


@each_language
def test_a_catalogue_has_the_keys_of_the_english_one(language: str) -> None:
    keys = set(texts_of(language))
    assert {"missing": sorted(ENGLISH.keys() - keys), "unknown": sorted(keys - ENGLISH.keys())} == {
        "missing": [],
        "unknown": [],
    }
    assert keys


@each_language
def test_the_number_of_tries_left_is_not_alone_on_a_line(language: str) -> None:
    texts = texts_of(language)
    for key in ("question.tries_left", "tries.left"):
        assert texts[key].endswith(":\u00a0{count}"), key


@each_language
def test_a_text_has_the_placeholders_of_the_english_one(language: str) -> None:
    texts = catalog_for(language).texts
    both = texts.keys() & ENGLISH.keys()
    assert {
        key: sorted(texts[key].names ^ ENGLISH[key].names) for key in both if texts[key].names != ENGLISH[key].names
    } == {}


@each_language
def test_a_text_is_clean(language: str) -> None:
    texts = texts_of(language)
    assert [key for key, text in texts.items() if not text.strip()] == [], "empty"
    assert [key for key, text in texts.items() if EDGE_BLANKS.search(text)] == [], "blanks at an end, or two in a row"
    assert [key for key, text in texts.items() if "<" in text or "&" in text] == [], "HTML"
    assert [key for key, text in texts.items() if DIRECTION_SWITCHES.search(text)] == [], "switches of direction"


@each_language
def test_a_catalogue_says_what_it_is(language: str) -> None:
    meta = catalogue_of(language)["meta"]
    assert meta.keys() == {"name", "locale"}
    assert Locale.parse(meta["locale"]).language == language
    assert meta["name"] == meta["name"].strip() != ""


# The catalogues and the code that uses them


SOURCES = [
    Source.read(path)
    for package in (CHECKOUT, CHECKOUT.with_name("embed"))
    for path in sorted(package.rglob("*"))
    if path.suffix in (".py", ".html")
]
USES = [(source, use) for source in SOURCES for use in source.uses]
ASKED_BY_NAME = {use.key for _, use in USES if use.key}


def keys_of(declared: Iterable[str]) -> set[str]:
    """`failure.*` means all that the English catalogue has there, but for what is also asked for by its name."""
    beginnings = tuple(key.removesuffix("*") for key in declared if key.endswith("*"))
    there = {key for key in ENGLISH if beginnings and key.startswith(beginnings)} - ASKED_BY_NAME
    return there | {key for key in declared if not key.endswith("*")}


def keys_asked_for(source: Source, use: Use) -> list[str]:
    if use.key:
        return [use.key]
    return sorted(key for key in keys_of(source.declared_for(use)) if re.fullmatch(use.pattern, key))


def test_every_text_that_is_asked_for_exists() -> None:
    asked = [(f"{source.name}:{use.line}", key) for source, use in USES for key in keys_asked_for(source, use)]
    assert [(where, key) for where, key in asked if key not in ENGLISH] == []
    assert asked


def test_every_call_gives_the_values_of_its_text() -> None:
    wrong = [
        f"{source.name}:{use.line} {key} takes {sorted(ENGLISH[key].names)}, not {sorted(use.values)}"
        for source, use in USES
        for key in keys_asked_for(source, use)
        if key in ENGLISH and use.values != ENGLISH[key].names
    ]
    assert wrong == []


def test_a_key_that_is_put_together_is_declared() -> None:
    silent = [f"{source.name}:{use.line} {use.pattern}" for source, use in USES if not keys_asked_for(source, use)]
    assert silent == []


def test_no_text_is_there_for_nothing() -> None:
    declared = {key for source in SOURCES for declaration in source.declarations for key in declaration.keys}
    assert sorted(ENGLISH.keys() - ASKED_BY_NAME - keys_of(declared)) == []
    assert sorted(keys_of(declared) - ENGLISH.keys()) == []


# The reading of calls itself


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('words("a.b")', {"a.b": []}),
        ('self.look.words(\n "a.b_c", x=1)', {"a.b_c": ["x"]}),
        ("words.rich('a.b', x=1, y=f(2))", {"a.b": ["x", "y"]}),
        ('look.words.rich("a", **more)', {"a": ["**"]}),
        ('words(f"a.{b}_more")', {None: []}),
        ("words(key, x=1)", {None: ["x"]}),
        ('words("a", b=words("c"))', {"a": ["b"], "c": []}),
        ('other("a"); words.money("b"); rich("c"); "words(1)"', {}),
    ],
)
def test_calls_in_programs_are_found(text: str, expected: dict[str | None, list[str]]) -> None:
    assert {use.key: sorted(use.values) for use in uses_in_program(text)} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{ "a.b"|text }}', {"a.b": []}),
        ("<a title=\"{{ 'a.b'|text(x=y.z) }}\">", {"a.b": ["x"]}),
        ('{{ "a"|rich(**more) }}', {"a": ["**"]}),
        ('{% if "a"|text %}{% endif %}{{ parts.box("b"|text, page) }}', {"a": [], "b": []}),
        ('{{ ("a." ~ b ~ "_more")|text }}', {None: []}),
        ("{{ key|text(x=1) }}", {None: ["x"]}),
        ('{# "a"|text #}{{ "b"|icon }}{{ text("c") }}', {}),
    ],
)
def test_calls_in_templates_are_found(text: str, expected: dict[str | None, list[str]]) -> None:
    assert {use.key: sorted(use.values) for use in uses_in_template(text)} == expected


PROGRAM = """
'''# words: not.this'''
# words: a.b, c.*
# words: d.e
words(x)

words(y)  # words: f.g
# Nearer, but without a key.
words(z)
"""
TEMPLATE = "{# words: a.b,c.* #}\nwords: not.this {{ x|text }}\n{{ y|text }}{#\nwords: f.g #}\n{{ z|text }}"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.py", PROGRAM, [{"a.b", "c.*", "d.e"}, {"f.g"}, {"f.g"}]),
        ("a.html", TEMPLATE, [{"a.b", "c.*"}, {"f.g"}, {"f.g"}]),
    ],
)
def test_the_nearest_comment_declares_what_a_call_may_ask_for(
    name: str, text: str, expected: list[set[str]], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    source = Source.read(tmp_path / name)
    assert [set(source.declared_for(use)) for use in source.uses] == expected


@pytest.mark.parametrize(
    "use", [*uses_in_program('words(f"a.{b}_more")'), *uses_in_template('{{ ("a." ~ b ~ "_more")|text }}')]
)
def test_a_key_that_is_put_together_has_a_pattern(use: Use) -> None:
    keys = ["a.x_more", "a.x", "axx_more", "b.x_more"]
    assert [key for key in keys if re.fullmatch(use.pattern, key)] == ["a.x_more"]
