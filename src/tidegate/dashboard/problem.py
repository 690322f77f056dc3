"""Refusals as pages say them: a title, and a sentence for each field."""

from __future__ import annotations

import re

from tidegate.core.errors import Invalid, Problem, Refusal
from tidegate.payment_link.model import LinkFault

_TITLES = {
    403: "You may not do this",
    404: "There is nothing here",
    409: "It has changed meanwhile",
    429: "Too many tries",
    503: "Not available right now",
}


def title_of(status: int) -> str:
    return _TITLES.get(status, "This did not work")


def problems_of(wrong: Refusal | None) -> list[tuple[str, str]]:
    """Field and sentence, for the summary at the top of a form."""
    if wrong is None:
        return []
    if isinstance(wrong, Invalid):
        return [(one.field, _sentence(_words_of(one))) for one in wrong.problems]
    return [("", _sentence(wrong.message))]


# Fields as the forms call them. The rules behind them are the API's, and call them by the API's names.
_LABELS = {
    "url": "The address",
    "redirectUrl": "The address where the customer goes",
    "endsAt": "The last day",
    "amountMin": "The least amount",
    "amountMax": "The greatest amount",
    "paymentsMax": "How often it may be paid",
    "paymentMethods": "A way to pay",
    "askPhoneNumber": "The phone number",
    "askNote": "The note",
    "noteLabel": "What the note is called",
    "successMessage": "The text after the payment",
    "name": "The name",
    "currency": "The currency",
    "amount": "The amount",
    "email": "The e-mail address",
    "reference": "The reference",
    "description": "What is paid for",
    "feeBearer": "Who pays the fee",
    "addresses": "“Only from”",
    "hosts": "Of the redirect hosts,",
    "scopes": "What the key may do",
    "refundMax": "The refund limit",
    "dateTo": "The period",
    "reason": "The reason",
    "note": "The note",
    "question": "The question",
    "answer": "The answer",
}
# Where the API speaks of its own words, and a form has others.
_SENTENCES: dict[str | None, str] = {
    LinkFault.ONE_OFF_IS_PAID_ONCE: "A link that is paid once has no number here; leave it empty, or choose “By many”",
    LinkFault.AMOUNT_OR_BOUNDS: "Give the amount, or the least and the greatest; not both",
}
_API_WORD = re.compile(r"\b[a-z]+(?:[A-Z][a-z]+)+\b")


def _words_of(problem: Problem) -> str:
    if problem.message[:1].isupper():
        return problem.message
    if problem.kind in _SENTENCES:
        return _SENTENCES[problem.kind]
    message = _API_WORD.sub(lambda found: _LABELS.get(found[0], found[0]).lower(), problem.message)
    return f"{_LABELS[problem.field]} {message}" if problem.field in _LABELS else Problem(problem.field, message).text


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
