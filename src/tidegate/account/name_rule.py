"""Whether incoming money is meant for the account's holder. Pure, total, and explained step by step.

Exact is credited, close or missing is held for review, different is returned. An unclear name is never exact.
The payer's own name is never compared: it names the sender, not the recipient.
The rule for merchants, with examples, is docs/name-rule.md.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from tidegate.account.name_company import is_company as says_company
from tidegate.account.name_company import judge_company
from tidegate.account.name_person import judge_person
from tidegate.account.name_text import NAME_CHARACTERS_MAX, WORDS_MAX, Word, clean, joined, words_of
from tidegate.account.name_verdict import NameFinding, NameVerdict
from tidegate.account.name_words import MARKUP_CHARACTERS, PLACEHOLDERS, QUALIFIERS

__all__ = ["NameCheck", "NameVerdict", "check_name"]

PAYEE, NONE = "payee", "none"
_SOURCES = {
    PAYEE: "compared: the name that the payer typed for the recipient",
    NONE: "compared: nothing, since the bank gave no name for the recipient",
}


class NameCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Stored with the inflow, and shown to the merchant and the operator."""

    # The compared text, without invisible characters, cut to the length of a name.
    typed: str | None
    # "payee", the name typed for the recipient; or "none".
    compared: str
    holder: str
    verdict: NameVerdict
    reason: str
    steps: tuple[str, ...]


def check_name(*, payee_name: str | None, holder: str, is_company: bool = False) -> NameCheck:
    """A holder whose name ends in a legal form is a company, whatever `is_company` says."""
    typed = clean(payee_name)
    compared = PAYEE if _is_given(typed) else NONE
    if compared is NONE:
        typed = ""
    owner = clean(holder)
    finding = _judge(typed, owner, is_company=is_company)
    return NameCheck(
        typed=typed[:NAME_CHARACTERS_MAX] or None,
        compared=compared,
        holder=owner[:NAME_CHARACTERS_MAX],
        verdict=finding.verdict,
        reason=finding.reason,
        steps=(_SOURCES[compared], *finding.steps, f"verdict: {finding.verdict}"),
    )


def _is_given(cleaned: str) -> bool:
    words = words_of(cleaned[: NAME_CHARACTERS_MAX + 1])
    return bool(words) and joined(words)[0] not in PLACEHOLDERS


def _judge(typed: str, holder: str, *, is_company: bool) -> NameFinding:
    if not typed:
        reason = "no name was given, so nothing says that the money is for the account holder"
        return NameFinding(NameVerdict.MISSING, reason, (reason,))
    if len(typed) > NAME_CHARACTERS_MAX:
        return _refused(f"the text is longer than {NAME_CHARACTERS_MAX} characters, which no name is")
    typed_words, holder_words = words_of(typed), words_of(holder[:NAME_CHARACTERS_MAX])
    if not holder_words or len(holder) > NAME_CHARACTERS_MAX:
        return _refused("the account holder has no name that could be compared")
    if max(len(typed_words), len(holder_words)) > WORDS_MAX:
        return _refused(f"there are more than {WORDS_MAX} words, which no name has")
    company = is_company or says_company(holder_words)
    judged = _judge_words(typed_words, holder_words, is_company=company)
    steps = (_read("typed name", typed, typed_words), _read("account holder", holder, holder_words), *judged.steps)
    finding = NameFinding(judged.verdict, judged.reason, steps)
    doubts = _strange(typed, holder, is_company=company)
    return finding.doubted(doubts if company else (*doubts, *_besides(typed, typed_words, holder_words)))


def _refused(reason: str) -> NameFinding:
    return NameFinding(NameVerdict.DIFFERENT, reason, (reason,))


def _judge_words(typed: tuple[Word, ...], holder: tuple[Word, ...], *, is_company: bool) -> NameFinding:
    if Counter(word.plain for word in typed) == Counter(word.plain for word in holder):
        reason = "the words of both names are the same"
        return NameFinding(NameVerdict.EXACT, reason, (reason,))
    return judge_company(typed, holder) if is_company else judge_person(typed, holder)


def _read(whose: str, text: str, words: tuple[Word, ...]) -> str:
    return f"{whose}: {text} -> {', '.join(word.plain for word in words)}"


def _besides(text: str, typed: tuple[Word, ...], holder: tuple[Word, ...]) -> tuple[str, ...]:
    """Signs that the text is not the name of exactly one person."""
    more = {word.plain for word in typed} & QUALIFIERS - {word.plain for word in holder}
    said = (f"more is said than a name: {' '.join(sorted(more))}",) if more else ()
    # "Obi, Ada" is one person; a whole name on each side of the comma is two.
    is_several = sum(len(part.split()) > 1 for part in text.split(",")) > 1
    return (*said, "there is more than one name") if is_several else said


def _strange(typed: str, holder: str, *, is_company: bool) -> tuple[str, ...]:
    # In a company's name a slash may belong to the legal form (A/S); in a person's it names a second person (c/o).
    strange = MARKUP_CHARACTERS if is_company else MARKUP_CHARACTERS | {"/"}
    found = (strange & set(typed)) - set(holder)
    return (f"the typed name holds characters that names do not have: {' '.join(sorted(found))}",) if found else ()
