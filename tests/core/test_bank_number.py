"""Numbers of banks and accounts: published ones pass, and a slip of the hand is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.bank_number import (
    IBAN_LENGTHS,
    iban_of,
    is_bic,
    is_iban,
    normal_account_number,
    routing_number_of,
)

# The examples of the registry.
IBANS = [
    "AD12 0001 2030 2003 5910 0100", "AT61 1904 3002 3457 3201", "BE68 5390 0754 7034", "BG80 BNBG 9661 1020 3456 78",
    "CH93 0076 2011 6238 5295 7", "CY17 0020 0128 0000 0012 0052 7600", "CZ65 0800 0000 1920 0014 5399",
    "DE89 3704 0044 0532 0130 00", "DK50 0040 0440 1162 43", "EE38 2200 2210 2014 5685",
    "ES91 2100 0418 4502 0005 1332", "FI21 1234 5600 0007 85", "FR14 2004 1010 0505 0001 3M02 606",
    "GB29 NWBK 6016 1331 9268 19", "GI75 NWBK 0000 0000 7099 453", "GR16 0110 1250 0000 0001 2300 695",
    "HR12 1001 0051 8630 0016 0", "HU42 1177 3016 1111 1018 0000 0000", "IE29 AIBK 9311 5212 3456 78",
    "IS14 0159 2600 7654 5510 7303 39", "IT60 X054 2811 1010 0000 0123 456", "LI21 0881 0000 2324 013A A",
    "LT12 1000 0111 0100 1000", "LU28 0019 4006 4475 0000", "LV80 BANK 0000 4351 9500 1",
    "MC58 1122 2000 0101 2345 6789 030", "MT84 MALT 0110 0001 2345 MTLC AST0 01S", "NL91 ABNA 0417 1643 00",
    "NO93 8601 1117 947", "PL61 1090 1014 0000 0712 1981 2874", "PT50 0002 0123 1234 5678 9015 4",
    "RO49 AAAA 1B31 0075 9384 0000", "SE45 5000 0000 0583 9825 7466", "SI56 2633 0001 2039 086",
    "SK31 1200 0000 1987 4263 7541", "SM86 U032 2509 8000 0000 0270 100", "VA59 0011 2300 0012 3456 78",
    "AL47 2121 1009 0000 0002 3569 8741", "MD24 AG00 0225 1000 1310 4168", "ME25 5050 0001 2345 6789 51",
    "MK07 2501 2000 0058 984", "RS35 2600 0560 1001 6113 79", "AE07 0331 2345 6789 0123 456",
    "BR97 0036 0305 0000 1000 9795 493P 1", "SA03 8000 0000 6080 1016 7519", "TR33 0006 1005 1978 6457 8413 26",
]  # fmt: skip
digits = st.text("0123456789", min_size=18, max_size=18)


@pytest.mark.parametrize("iban", IBANS)
def test_a_published_iban_is_one_however_it_is_typed(iban: str) -> None:
    plain = iban.replace(" ", "")
    assert is_iban(iban)
    assert is_iban(plain.lower())
    assert is_iban(iban.replace(" ", "-"))
    assert iban_of(plain[:2], plain[4:]) == plain


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DE",
        "DE89",
        "DE89 3704 0044 0532 0130 01",
        "DE89 3704 0044 0532 0130 0",
        "DE89 3704 0044 0532 0130 000",
        "ED89 3704 0044 0532 0130 00",
        "US89 3704 0044 0532 0130 00",
        "89 3704 0044 0532 0130 00",
        "DE89_3704_0044_0532_0130_00",
        "DE89 3704 0044 0532 0130 0\N{ARABIC-INDIC DIGIT ZERO}",
        "GB29 NWBK 6016 1331 9268 1Ö",
        "no such account",
    ],
)
def test_what_only_looks_like_an_iban_is_none(text: str) -> None:
    assert not is_iban(text)


def test_check_digits_that_are_never_given_out_are_refused_though_97_divides_them() -> None:
    # 97 more or less than right: dividing alone would let them pass.
    made = [iban_of("DE", f"{number:018d}") for number in range(2_000)]
    assert {iban[2:4] for iban in made} == {f"{check:02d}" for check in range(2, 99)}
    for iban in made:
        other = int(iban[2:4]) + (97 if int(iban[2:4]) < 3 else -97)
        assert other < 0 or not is_iban(f"DE{other:02d}{iban[4:]}")


@given(digits, st.integers(2, 21), st.integers(1, 9))
def test_one_wrong_digit_of_an_iban_is_always_found(bban: str, place: int, off: int) -> None:
    iban = iban_of("DE", bban)
    wrong = (int(iban[place]) + off) % 10
    assert not is_iban(f"{iban[:place]}{wrong}{iban[place + 1 :]}")


@given(digits, st.integers(2, 20))
def test_two_swapped_neighbours_in_an_iban_are_always_found(bban: str, place: int) -> None:
    iban = iban_of("DE", bban)
    swapped = f"{iban[:place]}{iban[place + 1]}{iban[place]}{iban[place + 2 :]}"
    assert is_iban(swapped) == (swapped == iban)


@pytest.mark.parametrize(
    ("country", "bban"), [("DE", "1" * 17), ("DE", "1" * 19), ("XX", "1" * 18), ("DE", "a" * 18), ("DE", " " * 18)]
)
def test_an_iban_is_made_only_of_an_account_number_of_the_country(country: str, bban: str) -> None:
    with pytest.raises(ValueError, match="not an account number"):
        iban_of(country, bban)


def is_routing_number(text: str) -> bool:
    try:
        return text == routing_number_of(text[:8])
    except ValueError:
        return False


@given(st.text())
def test_any_text_is_an_iban_or_not(text: str) -> None:
    assert is_iban(text) in (True, False)
    assert is_routing_number(text) in (True, False)
    assert is_bic(text) in (True, False)


def test_no_iban_is_longer_than_34() -> None:
    assert all(15 <= length <= 34 for length in IBAN_LENGTHS.values())


@pytest.mark.parametrize("bic", ["DEUTDEFF", "DEUTDEFF500", "CHASUS33", "NEDSZAJJXXX", "UNCRITMMXXX", "DABADKKK"])
def test_a_published_bic_has_the_form(bic: str) -> None:
    assert is_bic(bic)


@pytest.mark.parametrize(
    "text", ["", "DEUTDEF", "DEUTDEFF5", "DEUTDEFF50", "DEUTDEFF5000", "D3UTDEFF", "DEUT1EFF", "deutdeff", "DEUTDEFF\n"]
)
def test_another_form_is_no_bic(text: str) -> None:
    assert not is_bic(text)


# Of the Federal Reserve Bank of Boston, of large banks, and of the Treasury.
@pytest.mark.parametrize("number", ["011000015", "021000021", "111000025", "122105155", "322271627", "000000518"])
def test_a_published_routing_number_is_one(number: str) -> None:
    assert is_routing_number(number)
    assert routing_number_of(number[:8]) == number


@pytest.mark.parametrize(
    "text",
    ["", "02100002", "0210000210", "021000020", " 021000021", "02100002a", "0210-00021", "999999992", "130000006"],
)
def test_another_number_is_no_routing_number(text: str) -> None:
    assert not is_routing_number(text)


@given(st.sampled_from(["01", "12", "21", "32", "61", "80"]), st.integers(0, 10**6 - 1), st.integers(0, 8), st.data())
def test_one_wrong_digit_of_a_routing_number_is_always_found(
    prefix: str, rest: int, place: int, data: st.DataObject
) -> None:
    number = routing_number_of(f"{prefix}{rest:06d}")
    wrong = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != number[place]]))
    assert not is_routing_number(number[:place] + wrong + number[place + 1 :])


@pytest.mark.parametrize("first_eight", ["", "1234567", "123456789", "20000000", "9999999", "0210000x"])
def test_a_routing_number_is_made_only_of_eight_digits_that_may_begin_one(first_eight: str) -> None:
    with pytest.raises(ValueError, match="no routing number"):
        routing_number_of(first_eight)


@pytest.mark.parametrize(
    "typed",
    [
        "DE89 3704 0044 0532 0130 00",
        "de89 3704 0044 0532 0130 00",
        " DE89-3704-0044-0532-0130-00\n",
        "DE89\N{NO-BREAK SPACE}3704\N{NARROW NO-BREAK SPACE}0044\t0532 0130 00",
        "DE89\N{EN DASH}3704\N{NON-BREAKING HYPHEN}0044\N{ZERO WIDTH SPACE}0532013000",
    ],
)
def test_an_account_number_typed_in_groups_is_the_same_number(typed: str) -> None:
    assert normal_account_number(typed) == "DE89370400440532013000"


def test_characters_that_distinguish_account_numbers_stay() -> None:
    assert normal_account_number("0012/34.5_6") == "0012/34.5_6"
    assert normal_account_number(" - ") == ""
