from __future__ import annotations

import re

import pytest

from tidegate.core import ids
from tidegate.core.ids import Mode


@pytest.mark.parametrize(("mode", "prefix"), [(Mode.SANDBOX, "sk_test_"), (Mode.LIVE, "sk_live_")])
def test_a_secret_key_has_32_random_characters_and_a_checksum(mode: Mode, prefix: str) -> None:
    key = ids.new_secret_key(mode)
    assert re.fullmatch(rf"{prefix}[0-9A-Za-z]{{38}}", key)
    assert ids.is_secret_key(key, mode)
    assert not ids.is_public_key(key, mode)


def test_a_key_of_the_other_mode_is_no_key() -> None:
    assert not ids.is_secret_key(ids.new_secret_key(Mode.LIVE), Mode.SANDBOX)
    assert not ids.is_public_key(ids.new_public_key(Mode.SANDBOX), Mode.LIVE)


def test_any_mistyped_character_breaks_the_checksum() -> None:
    key = ids.new_secret_key(Mode.SANDBOX)
    for index in range(len("sk_test_"), len(key)):
        other = "A" if key[index] != "A" else "B"
        assert not ids.is_secret_key(key[:index] + other + key[index + 1 :], Mode.SANDBOX)


@pytest.mark.parametrize("text", ["", "sk_test_", "sk_test_é" + "a" * 37, " " * 46, "x" * 10_000])
def test_other_text_is_no_key(text: str) -> None:
    assert not ids.is_secret_key(text, Mode.SANDBOX)


def test_keys_and_codes_do_not_repeat() -> None:
    assert len({ids.new_secret_key(Mode.SANDBOX) for _ in range(2_000)}) == 2_000
    assert len({ids.new_pay_code("abcde") for _ in range(20_000)}) == 20_000


def test_a_pay_code_carries_its_business_and_is_safe_in_a_url() -> None:
    code = ids.new_business_code()
    pay_code = ids.new_pay_code(code)
    assert ids.business_code_of(pay_code) == code
    assert re.fullmatch(r"[0-9A-Za-z_]+", pay_code)
    assert ids.business_code_of("tg_short_x") is None


def test_a_business_id_has_the_published_form() -> None:
    assert ids.BUSINESS_ID.fullmatch(ids.new_business_id())
