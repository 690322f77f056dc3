"""The fields of a create request: what each accepts is exactly what it promises, whatever the text."""

from __future__ import annotations

import json
import unicodedata
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from email_validator import validate_email
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tidegate.core import ids
from tidegate.core.errors import Invalid
from tidegate.core.visible import DIRECTION_MARKS, visible
from tidegate.infra.address import URL_LENGTH_MAX
from tidegate.merchant import field
from tidegate.merchant.field import EmailAddress, Metadata, PersonName, PhoneNumber, Reference
from tidegate.payment.redirect import RedirectUrl, with_reference

Parsed = PersonName | EmailAddress | PhoneNumber | Reference | Metadata | RedirectUrl

# A busy machine is no failure.
unhurried = settings(deadline=None)

LABELS = st.text("az09-", min_size=1, max_size=8)
HOSTS = st.lists(LABELS, min_size=1, max_size=3).map(".".join)
PORTS = st.just("") | st.integers(1, 65_535).map(lambda port: f":{port}")
PATHS = st.just("") | st.text("Az0/_.~%-", max_size=12).map("/".__add__)
NAMES = st.sampled_from(["reference", "%72eference", "Reference", "reference[]", "x", "ref", "", "next"])
PARAMETERS = st.tuples(NAMES, st.sampled_from(["", "=", "=old", "=a%26b", "=reference=1"])).map("".join)
QUERIES = st.just("") | st.lists(PARAMETERS, max_size=4).map(lambda parts: "?" + "&".join(parts))
FRAGMENTS = st.sampled_from(["", "#", "#frag", "#/app?reference=old&x=1"])
URLS = st.tuples(st.sampled_from(["http", "https", "HTTPS"]), HOSTS, PORTS, PATHS, QUERIES, FRAGMENTS).map(
    lambda parts: f"{parts[0]}://{''.join(parts[1:])}"
)
REFERENCES = st.text("AZaz09-_.=:", min_size=1, max_size=100)
WORDS = st.text("AZaz09_+-", min_size=1, max_size=9)
ENDINGS = st.sampled_from(["com", "net", "org", "io", "co", "africa", "ng", "ke", "gh", "ug", "za", "zm", "NG", "Co"])
PLAIN_EMAILS = st.builds(
    lambda names, labels, ending: f"{'.'.join(names)}@{'.'.join([*labels, ending])}",
    st.lists(WORDS, min_size=1, max_size=3),
    st.lists(st.text("AZaz09-", min_size=1, max_size=12), min_size=1, max_size=4),
    ENDINGS,
)


def parsed(wanted: type[Parsed], value: Any) -> Parsed | None:
    """None when it is refused, which is the only other way to end."""
    try:
        return wanted.parse(value)
    except ValueError:
        return None


@unhurried
@given(URLS, REFERENCES)
def test_the_customer_comes_back_to_the_same_place_with_one_reference(url: str, reference: str) -> None:
    kept = parsed(RedirectUrl, url)
    assume(kept is not None)
    assert kept == url
    before, after = urlsplit(url), urlsplit(with_reference(url, reference))
    assert (after.scheme, after.netloc, after.path, after.fragment) == (
        before.scheme,
        before.netloc,
        before.path,
        before.fragment,
    )

    def others(query: str) -> list[tuple[str, str]]:
        return [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "reference"]

    assert [v for name, v in parse_qsl(after.query, keep_blank_values=True) if name == "reference"] == [reference]
    assert others(after.query) == others(before.query)


@unhurried
@given(st.text(max_size=40) | st.text(max_size=40).map("https://".__add__) | URLS)
@example("https://[::1")
@example("https://[::1]80")
@example("https://[fe80::1%25eth0]/")
@example("https://a.com:0000099999")
@example("https://evil.com／.a.com")
@example("https://\u00ad.com")
@example("https://a.com\\@evil.com")
@example("https://①②⑦.⓪.⓪.①/")
def test_a_redirect_that_is_kept_has_one_host_for_everybody(text: str) -> None:
    kept = parsed(RedirectUrl, text)
    if kept is None:
        return
    assert isinstance(kept, RedirectUrl)
    split = urlsplit(kept)
    assert split.scheme in ("http", "https")
    assert split.username is split.password is None
    assert split.hostname == kept.host != ""
    assert split.port is None or 1 <= split.port <= 65_535
    assert kept.isascii()
    assert kept.isprintable()
    assert not set(kept) & set(" \\")
    assert kept.is_public in (True, False)
    assert RedirectUrl.parse(str(kept)) == kept


def test_a_redirect_has_a_length() -> None:
    longest = "https://a.com/".ljust(URL_LENGTH_MAX, "p")
    assert parsed(RedirectUrl, longest) == longest
    assert parsed(RedirectUrl, longest + "p") is None


@unhurried
@given(PLAIN_EMAILS)
@example("a@" + "b" * 59 + ".co")
@example("_@0.io")
@example("-+_@a-b-c.co")
def test_the_short_way_to_an_address_agrees_with_the_long_one(text: str) -> None:
    assume(len(text) <= field._PLAIN_EMAIL_LENGTH_MAX and field._PLAIN_EMAIL.fullmatch(text))
    assert EmailAddress.parse(text) == text
    validate_email(text, check_deliverability=False, test_environment=True)


@unhurried
@given(st.emails() | st.text(max_size=30) | st.text(alphabet='ab.@-_+"<>,;\r\n ()', max_size=20))
def test_an_address_can_stand_in_a_header(text: str) -> None:
    if parsed(EmailAddress, text) is not None:
        assert text.count("@") == 1
        assert not set(text) & set('\r\n\t\0 ",;:<>()[]\\')


@unhurried
@given(st.text(max_size=210))
@example("\u3164")
@example("Z" + "\u0301" * 150)
@example("Ada\u2028")
def test_a_name_can_be_seen_and_stays_on_its_line(text: str) -> None:
    if parsed(PersonName, text) is not None:
        assert 1 <= len(text) <= field.NAME_LENGTH_MAX
        categories = [unicodedata.category(character) for character in text]
        assert not {"Cc", "Zl", "Zp"} & set(categories)
        assert any(category[0] in "LNPS" for category in categories)


@pytest.mark.parametrize("mark", DIRECTION_MARKS)
def test_a_name_does_not_turn_the_writing_direction(mark: str) -> None:
    assert parsed(PersonName, f"Ada{mark}Obi") is None
    with pytest.raises(Invalid, match="writing direction"):
        field.name_in(f"Ada{mark}Obi", chars_max=100)
    # A remark reads as it was meant: without them.
    assert field.remark_in("reason", f"Ada{mark}Obi") == "AdaObi"
    assert parsed(field.CustomerName, f"Ada{mark}Obi") == "AdaObi"
    assert parsed(field.CustomerName, mark) is None
    # It is one that the command line and files escape too.
    assert visible(mark) != mark


@pytest.mark.parametrize("name", ["أدا أوبي", "נועה", "نازنین\u200cها", "Ọlá"])
def test_names_of_any_script_stay(name: str) -> None:
    assert parsed(PersonName, name) == name
    assert field.name_in(name, chars_max=100) == name
    assert field.remark_in("reason", name) == name


@unhurried
@given(st.text(max_size=110) | REFERENCES)
@example("ORD\n")
def test_a_reference_is_the_same_in_a_path(text: str) -> None:
    if parsed(Reference, text) is not None:
        assert quote(text, safe="=:") == text
        assert field.is_reference(text)
        assert not ids.looks_like_pay_code(text)


@unhurried
@given(st.text(alphabet="+0123456789 -().\n٣x", max_size=34))
def test_a_phone_number_has_7_to_15_digits(text: str) -> None:
    if text and parsed(PhoneNumber, text) is not None:
        assert 7 <= sum(character in "0123456789" for character in text) <= 15
        assert text.count("+") <= 1
        assert set(text) <= set("+0123456789 -().")


@unhurried
@given(
    st.dictionaries(
        st.text(max_size=42),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.decimals(allow_nan=False, allow_infinity=False)
            | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=42), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=5,
    )
)
def test_metadata_is_kept_to_the_digit(value: dict[str, Any]) -> None:
    kept = parsed(Metadata, value)
    if kept is not None:
        assert json.loads(kept, parse_float=Decimal) == value


@pytest.mark.parametrize("wanted", [PersonName, EmailAddress, PhoneNumber, Reference, Metadata, RedirectUrl])
@pytest.mark.parametrize("value", [None, True, 7, Decimal("1.5"), [], ["x"]])
def test_a_field_of_another_type_is_refused(wanted: type[Parsed], value: Any) -> None:
    assert parsed(wanted, value) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("  ", "Enter a name."),
        ("\u2800", "Enter a name."),
        ("x" * 101, "The name has 101 characters; shorten it to at most 100."),
    ],
)
def test_a_name_that_is_missing_and_one_that_is_too_long_are_told_what_to_do(text: str, sentence: str) -> None:
    with pytest.raises(Invalid) as refused:
        field.name_in(text, chars_max=100)
    assert [one.message for one in refused.value.problems] == [sentence]


@pytest.mark.parametrize(
    ("text", "sentence"), [(" ", "must not be empty"), ("x" * 501, "must have at most 500 characters")]
)
def test_a_remark_that_is_missing_and_one_that_is_too_long_are_told_what_to_do(text: str, sentence: str) -> None:
    with pytest.raises(Invalid) as refused:
        field.remark_in("note", text)
    assert [one.message for one in refused.value.problems] == [sentence]
