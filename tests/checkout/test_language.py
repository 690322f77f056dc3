"""The language machinery, with catalogues of its own: what the real ones say is the matter of test_catalogues.py."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from babel import Locale
from babel.dates import format_datetime
from babel.numbers import format_currency, parse_decimal
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from tidegate.checkout.language.catalog import LANGUAGES, Catalog, catalog_for
from tidegate.checkout.language.money_format import MoneyParts
from tidegate.checkout.language.negotiate import (
    ACCEPT_LANGUAGE_LENGTH_MAX,
    TAG_LENGTH_MAX,
    negotiate_language,
)
from tidegate.core.money import Currency, Money

MINOR_MAX = 10**14
TEN_THOUSAND = Money(1_000_000, Currency.NGN)
AFTERNOON = datetime(2026, 11, 15, 13, 8, 59, tzinfo=UTC)
ISOLATE, END = "\u2068", "\u2069"
DIRECTION_MARKS = "\u200e\u200f"

languages = st.sampled_from(list(LANGUAGES))
monies = st.builds(Money, st.integers(min_value=0, max_value=MINOR_MAX), st.sampled_from(list(Currency)))
each_language = pytest.mark.parametrize("language", LANGUAGES)
# In the order of the chooser.
OTHERS = [language for language in LANGUAGES if language != "en"]


def make_words(language: str = "en", **texts: Any) -> Catalog:
    return Catalog.of(language, {"meta": {"name": "…", "locale": language}, **texts})


# Texts


def test_a_text_is_found_by_its_tables_and_its_name() -> None:
    words = make_words(pay="Pay now", transfer={"title": "Transfer", "account": {"number": "Account number"}})
    assert words("pay") == "Pay now"
    assert words("transfer.title") == "Transfer"
    assert words("transfer.account.number") == "Account number"


@pytest.mark.parametrize("key", ["", "transfer", "transfer.titles", "meta.name", "title"])
def test_an_unknown_key_is_refused(key: str) -> None:
    words = make_words(transfer={"title": "Transfer"})
    with pytest.raises(KeyError):
        words(key)
    with pytest.raises(KeyError):
        words.rich(key)


def test_values_stand_where_the_text_wants_them() -> None:
    words = make_words(sent="{amount} to {shop}, in {minutes} minutes, {shop}!")
    assert words("sent", shop="Ada", amount="₦10", minutes=5) == "₦10 to Ada, in 5 minutes, Ada!"


def test_a_value_is_not_read_as_a_text() -> None:
    assert make_words(sent="{shop} for {amount}")("sent", shop="{amount}", amount="₦1") == "{amount} for ₦1"


@pytest.mark.parametrize("values", [{}, {"amount": "1"}, {"amount": "1", "shop": "A", "more": "x"}, {"amounts": "1"}])
def test_a_sentence_is_never_said_by_half(values: dict[str, str]) -> None:
    words = make_words(sent="{amount} to {shop}")
    with pytest.raises(TypeError, match="sent takes the values"):
        words("sent", **values)
    with pytest.raises(TypeError, match="sent takes the values"):
        words.rich("sent", **values)


@pytest.mark.parametrize("value", [None, True, 1.5, b"1", StrictUndefined(name="shop"), TEN_THOUSAND])
def test_a_value_is_a_text_or_a_whole_number(value: Any) -> None:
    words = make_words(sent="to {shop}")
    with pytest.raises(TypeError, match="sent takes texts and whole numbers"):
        words("sent", shop=value)
    with pytest.raises(TypeError, match="sent takes texts and whole numbers"):
        words.rich("sent", shop=value)


@pytest.mark.parametrize("text", ["{", "}", "{}", "{0}", "{Amount}", "{amount!r}", "{a.b}", "{{amount}}", "{amount"])
def test_a_catalogue_with_a_stray_brace_does_not_load(text: str) -> None:
    with pytest.raises(ValueError, match=r"^en\.toml: sent\.it has a brace"):
        make_words(sent={"it": text})


@pytest.mark.parametrize("entry", [1, True, ["a"], 1.5])
def test_a_catalogue_holds_only_texts(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"^en\.toml: sent\.it must be a text"):
        make_words(sent={"it": entry})


def test_rich_text_has_plain_values_in_bold_and_everything_escaped() -> None:
    rich = make_words(sent="<i> & {shop}").rich("sent", shop="<b>'A' & Co.</b>")
    assert isinstance(rich, Markup)
    assert rich == "&lt;i&gt; &amp; <b>&lt;b&gt;&#39;A&#39; &amp; Co.&lt;/b&gt;</b>"


def test_markup_stays_markup_in_rich_text_and_is_refused_in_plain() -> None:
    words, time = make_words(until="before {time}"), Markup('<time datetime="x">14:32</time>')
    assert words.rich("until", time=time) == 'before <time datetime="x">14:32</time>'
    with pytest.raises(TypeError, match="ask for it rich"):
        words("until", time=time)


def test_a_template_escapes_plain_texts_and_keeps_rich_ones() -> None:
    page = Environment(autoescape=True).from_string("{{ words('a', b='<') }} {{ words.rich('a', b='<') }}")
    assert page.render(words=make_words(a="& {b}")) == "&amp; &lt; &amp; <b>&lt;</b>"


# Directions


def test_values_in_a_right_to_left_sentence_are_isolated() -> None:
    words = make_words("ar", send="أرسل {amount} إلى {account}")
    sent = words("send", amount="KSh 10", account="990 214 7730")
    assert sent == f"أرسل {ISOLATE}KSh 10{END} إلى {ISOLATE}990 214 7730{END}"
    assert words.rich("send", amount="<", account=Markup("<i>9</i>")) == (
        f"أرسل <b>{ISOLATE}&lt;{END}</b> إلى {ISOLATE}<i>9</i>{END}"
    )


@pytest.mark.parametrize("shop", ["متجر", "חנות", "Ada متجر"])
def test_a_right_to_left_name_is_isolated_in_every_language(shop: str) -> None:
    assert make_words(pay="Pay {shop} {amount}")("pay", shop=shop, amount="₦1") == f"Pay {ISOLATE}{shop}{END} ₦1"


def test_a_left_to_right_sentence_has_no_invisible_characters() -> None:
    words = make_words("fr", pay="Payer {amount} à {shop}")
    text = words("pay", amount=words.money(TEN_THOUSAND), shop="Été & Cie ₦")
    assert [c for c in text if unicodedata.category(c) == "Cf"] == []


@each_language
@pytest.mark.parametrize("switch", [*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))])
def test_a_name_cannot_turn_the_sentence_around(language: str, switch: str) -> None:
    words = make_words(language, pay="{shop}: {amount}")
    shop = f"{switch}A{switch}da"
    assert words("pay", shop=shop, amount="1") == words("pay", shop="Ada", amount="1")
    assert words.rich("pay", shop=Markup(shop), amount="1") == words.rich("pay", shop=Markup("Ada"), amount="1")


@given(monies)
def test_an_arabic_amount_runs_from_right_to_left_alone_and_isolated(money: Money) -> None:
    # An isolate takes the direction of the first strong character in it, and so does a page's title; a mark at the
    # end keeps letters that follow from joining those of the sign.
    shown = catalog_for("ar").money(money)
    strong = [unicodedata.bidirectional(c) for c in shown if unicodedata.bidirectional(c) in ("L", "R", "AL")]
    assert (strong[0], strong[-1]) == ("R", "R")
    # Not isolated itself: that is done where it is put into a sentence.
    assert not set(shown) & {ISOLATE, END}


@pytest.mark.parametrize("currency", Currency)
def test_an_arabic_sign_is_not_turned_around(currency: Currency) -> None:
    # The last character of GH₵ has no direction of its own, and would move to the other side of GH.
    sign = catalog_for("ar").money_parts(Money(1, currency)).sign
    assert sign == currency.spec.sign + "\u200e"
    assert sign in catalog_for("ar").money(Money(1, currency))


# Money


@pytest.mark.parametrize(
    ("language", "currency", "shown"),
    [
        ("en", Currency.NGN, "₦10,000.00"),
        ("en", Currency.GHS, "GH₵10,000.00"),
        ("en", Currency.KES, "KSh\u00a010,000.00"),
        ("en", Currency.UGX, "USh\u00a01,000,000"),
        ("en", Currency.ZAR, "R10,000.00"),
        ("en", Currency.ZMW, "K10,000.00"),
        ("en", Currency.TZS, "TSh\u00a010,000.00"),
        ("en", Currency.USD, "$10,000.00"),
        ("en", Currency.EUR, "€10,000.00"),
        ("fr", Currency.NGN, "10\u202f000,00\u00a0₦"),
        ("fr", Currency.KES, "10\u202f000,00\u00a0KSh"),
        ("fr", Currency.UGX, "1\u202f000\u202f000\u00a0USh"),
        ("sw", Currency.TZS, "TSh\u00a010,000.00"),
        ("sw", Currency.NGN, "₦\u00a010,000.00"),
        ("pt", Currency.ZAR, "10\u00a0000,00\u00a0R"),
        ("ar", Currency.NGN, "\u200f10,000.00\u00a0₦\u200e\u200f"),
        ("ar", Currency.GHS, "\u200f10,000.00\u00a0GH₵\u200e\u200f"),
    ],
)
def test_amounts_are_written_as_the_language_writes_them(language: str, currency: Currency, shown: str) -> None:
    assert catalog_for(language).money(Money(1_000_000, currency)) == shown


def locale_of(language: str) -> Locale:
    return Locale.parse(catalog_for(language).locale, sep="-")


@given(languages, monies)
def test_an_amount_reads_back_as_it_was(language: str, money: Money) -> None:
    parts = catalog_for(language).money_parts(money)
    major = parse_decimal(parts.digits, locale=locale_of(language), strict=True, numbering_system="latn")
    assert major.scaleb(money.currency.exponent) == money.minor
    shown = catalog_for(language).money(money)
    assert shown.count(parts.digits) == shown.count(parts.sign) == 1
    assert all(c in "0123456789" for c in shown if c.isdigit())
    assert shown.startswith(parts.sign) is parts.is_sign_first
    assert " " not in shown


@given(languages, monies)
def test_amounts_agree_with_babel(language: str, money: Money) -> None:
    code, sign = money.currency.value, money.currency.spec.sign
    major = Decimal(money.minor).scaleb(-money.currency.exponent)
    theirs = format_currency(
        major, code, format=locale_of(language).currency_formats["standard"], locale=locale_of(language),
        numbering_system="latn",
    )  # fmt: skip
    symbol = locale_of(language).currency_symbols.get(code, code)
    ours = catalog_for(language).money(money)
    assert _bare(ours) == _bare(theirs.replace(symbol, sign))


def _bare(shown: str) -> str:
    """Without what we add: marks of direction, and the distance of a sign of several letters."""
    return "".join(c for c in shown if c not in DIRECTION_MARKS).replace("Sh\u00a0", "Sh")


def test_the_large_amount_comes_in_parts() -> None:
    assert catalog_for("en").money_parts(TEN_THOUSAND) == MoneyParts("₦", "10,000.00", is_sign_first=True)
    assert catalog_for("fr").money_parts(TEN_THOUSAND) == MoneyParts("₦", "10\u202f000,00", is_sign_first=False)


def test_a_negative_amount_is_not_shown_to_payers() -> None:
    with pytest.raises(ValueError, match="not negative"):
        catalog_for("en").money(Money(-1, Currency.NGN))
    with pytest.raises(ValueError, match="not negative"):
        catalog_for("en").money_parts(Money(-1, Currency.NGN))


@each_language
@pytest.mark.parametrize("currency", Currency)
def test_every_currency_has_a_sign_in_every_language(language: str, currency: Currency) -> None:
    assert currency.spec.sign in catalog_for(language).money(Money(1, currency))


# Time


@pytest.mark.parametrize(
    ("currency", "hours", "name"),
    [
        (Currency.NGN, 1, "WAT"),
        (Currency.GHS, 0, "GMT"),
        (Currency.KES, 3, "EAT"),
        (Currency.UGX, 3, "EAT"),
        (Currency.TZS, 3, "EAT"),
        (Currency.ZAR, 2, "SAST"),
        (Currency.ZMW, 2, "CAT"),
        (Currency.USD, 0, "UTC"),
        (Currency.EUR, 0, "UTC"),
    ],
)
def test_a_currency_has_the_time_of_its_country(currency: Currency, hours: int, name: str) -> None:
    zone = currency.spec.zone
    assert (zone.utcoffset(None), zone.tzname(None)) == (timedelta(hours=hours), name)


@each_language
def test_the_clock_has_24_hours_in_every_language(language: str) -> None:
    zone = Currency.NGN.spec.zone
    assert catalog_for(language).time(AFTERNOON, zone) == "14:08"
    assert catalog_for(language).time(AFTERNOON.replace(hour=23), zone) in ("00:08", "0:08")


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", "Sun 15 Nov 2026, 14:08"),
        ("fr", "dim. 15 nov. 2026, 14:08"),
        ("sw", "Jumapili, 15 Nov 2026 14:08"),
        ("pt", "domingo, 15/11/2026, 14:08"),
        ("ar", "الأحد، 15 نوفمبر 2026، 14:08"),
    ],
)
def test_moments_are_written_as_the_language_writes_them(language: str, shown: str) -> None:
    assert catalog_for(language).moment(AFTERNOON, Currency.NGN.spec.zone) == shown


def test_the_date_is_that_of_the_zone() -> None:
    late = datetime(2026, 12, 31, 22, 30, tzinfo=UTC)
    assert catalog_for("en").moment(late, Currency.KES.spec.zone) == "Fri 1 Jan 2027, 01:30"
    assert catalog_for("en").moment(late, Currency.GHS.spec.zone) == "Thu 31 Dec 2026, 22:30"


@given(languages, st.integers(min_value=0, max_value=36_525))
def test_digits_of_dates_are_latin_in_every_language(language: str, days: int) -> None:
    moment = AFTERNOON + timedelta(days=days, minutes=days)
    shown = catalog_for(language).moment(moment, Currency.ZAR.spec.zone)
    assert all(c in "0123456789" for c in shown if c.isdigit())
    assert f"{moment.astimezone(Currency.ZAR.spec.zone):%H:%M}".removeprefix("0") in shown


@given(languages, st.integers(min_value=0, max_value=36_525))
def test_moments_are_written_as_babel_writes_them(language: str, days: int) -> None:
    moment, zone, locale = AFTERNOON + timedelta(days=days, minutes=days), Currency.ZAR.spec.zone, locale_of(language)
    date_pattern = "E d MMM y" if language == "en" else locale.datetime_skeletons["yMMMEd"].pattern
    pattern = locale.datetime_formats["medium"].format(locale.datetime_skeletons["Hm"].pattern, date_pattern)
    assert catalog_for(language).moment(moment, zone) == format_datetime(moment, pattern, tzinfo=zone, locale=locale)


# Countries


def test_a_country_has_its_name_in_the_language() -> None:
    assert [catalog_for(language).countries["ZA"] for language in ("en", "fr", "sw")] == [
        "South Africa", "Afrique du Sud", "Afrika Kusini",
    ]  # fmt: skip
    assert "XA" not in catalog_for("en").countries


# The choice of the language


def from_browser(header: str | None) -> str:
    return negotiate_language(asked=None, remembered=None, accept_language=header)


@pytest.mark.parametrize(
    ("asked", "remembered", "header", "chosen"),
    [
        ("ar", "fr", "sw", "ar"),
        (None, "fr", "sw", "fr"),
        (None, None, "sw", "sw"),
        (None, None, None, "en"),
        ("", "", "", "en"),
        ("tlh", "fr", "sw", "fr"),
        ("tlh", "../../etc", "sw", "sw"),
        ("pt-BR", None, None, "pt"),
        (None, "FR", None, "fr"),
        ("fr" + "-a" * TAG_LENGTH_MAX, None, None, "en"),
        ("*", "meta", None, "en"),
    ],
)
def test_what_was_asked_for_comes_first_then_the_last_visit_then_the_browser(
    asked: str | None, remembered: str | None, header: str | None, chosen: str
) -> None:
    assert negotiate_language(asked=asked, remembered=remembered, accept_language=header) == chosen


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("en-GB", "en"),
        ("pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("PT-br", "pt"),
        ("zh-Hant-TW, ar-EG;q=0.3", "ar"),
        ("fr;q=0.5, sw;q=0.8", "sw"),
        ("fr;q=0.5, sw;q=0.5", "fr"),
        ("fr ; q=0.4 ,\tsw;Q=0.5", "sw"),
        ("de, ja", "en"),
        ("*", "en"),
        ("de, *;q=0.5", "en"),
        ("fr;q=0.4, *;q=0.5", "en"),
        ("sw, *", "sw"),
        ("en;q=0, *", OTHERS[0]),
        (f"en;q=0, {OTHERS[0]};q=0.0, *;q=0.1", OTHERS[1]),
        ("en;q=0", "en"),
        ("*;q=0", "en"),
        ("*;q=0, ar;q=0.001", "ar"),
        ("fr;q=0", "en"),
        ("en-US;q=0, en;q=0.7, fr;q=0.6", "en"),
        ("fr;q=1.000, sw", "fr"),
        ("fr-CA;q=0.9, fr;q=0.2, sw;q=0.5", "fr"),
    ],
)
def test_the_browser_is_understood(header: str, chosen: str) -> None:
    assert from_browser(header) == chosen


@pytest.mark.parametrize(
    "garbage",
    [
        ",,,", ";q=1", "fr;q=2", "fr;q=1.001", "fr;q=-1", "fr;q=nan", "fr;q=1e3", "fr;q=", "fr;q=0.5;q=1",
        "fr fr", "f\x00r", "fr\n", "٣", "-fr",
    ],
)  # fmt: skip
def test_a_part_that_makes_no_sense_is_passed_over(garbage: str) -> None:
    assert from_browser(garbage) == "en"
    assert from_browser(f"{garbage},sw;q=0.1") == "sw"


@pytest.mark.parametrize("header", ["fr," * 5_000, "fr" + "-a" * 5_000, "fr;q=0." + "1" * 10_000, "fr" + " " * 10_000])
def test_a_header_that_no_browser_sends_is_not_read(header: str) -> None:
    assert from_browser(header) == "en"


def test_the_limit_of_the_header_is_exact() -> None:
    assert from_browser("fr".ljust(ACCEPT_LANGUAGE_LENGTH_MAX)) == "fr"
    assert from_browser("fr".ljust(ACCEPT_LANGUAGE_LENGTH_MAX + 1)) == "en"


@given(*[st.none() | st.text() | st.text(alphabet="enfrswptar-*;q=01., ")] * 3)
def test_whatever_is_sent_a_language_is_chosen(asked: str | None, remembered: str | None, header: str | None) -> None:
    assert negotiate_language(asked=asked, remembered=remembered, accept_language=header) in LANGUAGES


def test_the_languages_are_offered_by_their_own_names() -> None:
    names = {"en": "English", "fr": "Français", "sw": "Kiswahili", "pt": "Português", "ar": "العربية"}
    assert names.items() <= LANGUAGES.items()
    assert list(LANGUAGES.values()) == ["English", *sorted(LANGUAGES[language] for language in OTHERS)]
    assert [catalog_for(language).language for language in LANGUAGES] == list(LANGUAGES)
    assert catalog_for("fr") is catalog_for("fr")
