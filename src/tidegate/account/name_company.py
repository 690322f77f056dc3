"""Compares company names: every word must be present, and the legal form equal. Pure."""

from __future__ import annotations

import msgspec

from tidegate.account.name_text import Word, are_equal, are_one_letter_apart, joined, shown
from tidegate.account.name_verdict import NameFinding, NameVerdict
from tidegate.account.name_words import (
    COMPANY_FILLERS,
    COMPANY_SHORTHAND,
    LEGAL_FORM_WORDS_MAX,
    LEGAL_FORMS,
    UNMISTAKABLE_FORMS,
)

# With fewer equal words, one extra word means another company: "Acme Ltd" and "Acme Foods Ltd".
_EQUAL_WORDS_MIN = 2
_MORE_WORDS_MAX = 3

CompanyWords = tuple[Word, ...]


class Company(msgspec.Struct, frozen=True):
    words: CompanyWords
    forms: frozenset[str]

    def described(self, whose: str) -> str:
        form = ", ".join(sorted(self.forms)) or "none"
        return f"{whose}, words: {', '.join(word.plain for word in self.words)}; legal form: {form}"


def is_company(words: CompanyWords) -> bool:
    """Whether the name has a legal form that is never a last name."""
    if any(word.plain in UNMISTAKABLE_FORMS for word in words[1:]):
        return True
    size = _form_size(words, at_the_end=True)
    return size > 0 and joined(words[-size:])[0] in UNMISTAKABLE_FORMS


def judge_company(typed_words: CompanyWords, holder_words: CompanyWords) -> NameFinding:
    typed, holder = _take_apart(typed_words), _take_apart(holder_words)
    words, forms = _judge_words(typed.words, holder.words), _judge_forms(typed.forms, holder.forms)
    steps = (typed.described("typed name"), holder.described("account holder"), words.reason, forms.reason)
    verdicts = (words.verdict, forms.verdict)
    if NameVerdict.DIFFERENT in verdicts:
        worst = words if words.verdict is NameVerdict.DIFFERENT else forms
        return NameFinding(NameVerdict.DIFFERENT, worst.reason, steps)
    if NameVerdict.CLOSE in verdicts:
        reason = "; ".join(f.reason for f in (words, forms) if f.verdict is NameVerdict.CLOSE)
        return NameFinding(NameVerdict.CLOSE, reason, steps)
    return NameFinding(NameVerdict.EXACT, "all words and the legal form are equal", steps)


def _take_apart(words: CompanyWords) -> Company:
    rest, forms = _without_forms(words, at_the_end=True)
    if not forms:
        # The form may come first, as in "OOO Romashka".
        rest, forms = _without_forms(words, at_the_end=False)
    names = tuple(_in_full(word) for word in rest if word.plain not in COMPANY_FILLERS)
    return Company(names or rest, forms)


def _in_full(word: Word) -> Word:
    full = COMPANY_SHORTHAND.get(word.plain)
    return Word(word.shown, (full,) * len(word.spellings)) if full else word


def _without_forms(words: CompanyWords, *, at_the_end: bool) -> tuple[CompanyWords, frozenset[str]]:
    forms: set[str] = set()
    while size := _form_size(words, at_the_end=at_the_end):
        form = words[-size:] if at_the_end else words[:size]
        words = words[:-size] if at_the_end else words[size:]
        forms.add(LEGAL_FORMS[joined(form)[0]])
    return words, frozenset(forms)


def _form_size(words: CompanyWords, *, at_the_end: bool) -> int:
    """How many words the legal form has, the longest match first. At least one word is left for the name."""
    for size in range(min(LEGAL_FORM_WORDS_MAX, len(words) - 1), 0, -1):
        if joined(words[-size:] if at_the_end else words[:size])[0] in LEGAL_FORMS:
            return size
    return 0


def _judge_forms(typed: frozenset[str], holder: frozenset[str]) -> NameFinding:
    described = f"{', '.join(sorted(typed)) or 'none'} / {', '.join(sorted(holder)) or 'none'}"
    if typed == holder:
        return NameFinding(NameVerdict.EXACT, f"legal form: equal: {described}")
    if typed < holder or holder < typed:
        return NameFinding(NameVerdict.CLOSE, f"the legal form is not complete in one of the names: {described}")
    return NameFinding(NameVerdict.DIFFERENT, f"another legal form is another company: {described}")


def _judge_words(typed: CompanyWords, holder: CompanyWords) -> NameFinding:
    if are_equal(joined(typed), joined(holder)):
        return NameFinding(NameVerdict.EXACT, "words: equal")
    more, missing = list(typed), []
    for word in holder:
        met = next((other for other in more if are_equal(word.spellings, other.spellings)), None)
        if met is None:
            missing.append(word)
        else:
            more.remove(met)
    return _judge_rest(more, missing, equal=len(holder) - len(missing))


def _judge_rest(more: list[Word], missing: list[Word], *, equal: int) -> NameFinding:
    if not more and not missing:
        return NameFinding(NameVerdict.EXACT, "words: equal, in another order")
    described = f"{shown(more) or 'nothing'} / {shown(missing) or 'nothing'}"
    if more and missing and are_one_letter_apart(joined(more), joined(missing)):
        return NameFinding(NameVerdict.CLOSE, f"the names differ by one letter: {described}")
    if equal >= _EQUAL_WORDS_MIN and not missing and len(more) <= _MORE_WORDS_MAX:
        return NameFinding(NameVerdict.CLOSE, f"more was typed than the account holder's name: {shown(more)}")
    if equal >= _EQUAL_WORDS_MIN and not more and len(missing) == 1:
        return NameFinding(NameVerdict.CLOSE, f"a word of the account holder's name was not typed: {shown(missing)}")
    return NameFinding(NameVerdict.DIFFERENT, f"the names have other words: {described}")
