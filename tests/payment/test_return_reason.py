"""Why money goes back is one of a few words, whichever version wrote it down."""

from __future__ import annotations

import pytest

from tidegate.money_return.reason import ReturnReason, reason_in


@pytest.mark.parametrize("reason", ReturnReason)
def test_a_reason_is_read_as_it_is_written_now_and_as_it_was_written_before(reason: ReturnReason) -> None:
    assert reason_in(reason.value) is reason
    assert reason_in(reason.sentence) is reason


def test_the_sentences_of_earlier_versions_are_known() -> None:
    sentences = {
        "this payment was already paid",
        "it arrived after the payment had ended",
        "it arrived after the account had closed",
        "it was less than the amount asked for",
        "it was more than the amount asked for",
        "the rest did not arrive in time",
    }
    assert sentences <= {reason.sentence for reason in ReturnReason}


@pytest.mark.parametrize("text", [None, "", "no account has this number", "TOO_MUCH"])
def test_any_other_text_is_no_reason_and_no_error(text: str | None) -> None:
    assert reason_in(text) is None
