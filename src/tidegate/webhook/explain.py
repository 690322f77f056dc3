"""Why a signature matches or not. Pure: takes the request, the receiver's secrets, and the time."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from tidegate.webhook import restore, sign
from tidegate.webhook.restore import BodyForm, Difference

# Allowed distance between timestamp and receiver's clock, as in the Standard Webhooks libraries.
TOLERANCE = timedelta(seconds=300)
ID, TIMESTAMP, STANDARD, PUBLISHED = "webhook-id", "webhook-timestamp", "webhook-signature", "signature"
_STANDARD_HEADERS = (ID, TIMESTAMP, STANDARD)
_SECONDS = re.compile(r"[0-9]{1,11}", re.ASCII)
_MILLISECONDS = re.compile(r"[0-9]{12,14}", re.ASCII)
_HEX_OF_SHA512 = re.compile(r"[0-9a-f]{128}")
_AS_IT_IS = ""


class SignatureCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check: of a header, the body or a secret."""

    subject: str
    is_well: bool
    what: str
    advice: str = ""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    checks: tuple[SignatureCheck, ...]
    # Between the body that matches, or that Tidegate would have written, and the given one.
    difference: Difference | None = None

    @property
    def is_well(self) -> bool:
        return all(check.is_well for check in self.checks)

    def is_proven_by(self, header: str) -> bool:
        return any(check.subject == header and check.is_well for check in self.checks)


class _Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The headers' values, where they can be compared."""

    event_id: str = ""
    timestamp_s: int = 0
    standard: tuple[str, ...] = ()
    published: str | None = None

    @property
    def headers(self) -> list[str]:
        return [STANDARD] * bool(self.standard) + [PUBLISHED] * (self.published is not None)


class _Secret(msgspec.Struct, frozen=True, kw_only=True):
    """A usable secret. `mistake` is what was corrected in the given one."""

    text: str
    name: str
    mistake: str = ""


class _Proof(msgspec.Struct, frozen=True):
    """What a signature was found to match."""

    secret: _Secret
    form: BodyForm


def explain(headers: Mapping[str, str], body: bytes, secrets: Sequence[str], *, now: datetime) -> Explanation:
    # A terminal may pass bytes that are not text; no signature has any.
    given = {name.strip().lower(): value.strip().encode(errors="replace").decode() for name, value in headers.items()}
    claim, checks = _claim_in(given, now)
    usable, of_secrets = _usable(secrets)
    proofs = _proofs(claim, body, usable)
    for header in claim.headers:
        checks.append(_check_of(header, proofs, len(secrets)))
    if claim.headers and len(proofs) == len(claim.headers):
        # Problems of the other secrets do not matter: they were not needed.
        of_secrets = [_mended(proof.secret) for proof in proofs.values() if proof.secret.mistake][:1]
    changed = next((proof.form for proof in proofs.values() if proof.form.happened), None)
    if changed is not None:
        difference = restore.difference_between(sent=changed.body, given=body)
        return Explanation(checks=(*checks, *of_secrets, _changed(changed)), difference=difference)
    if proofs or not claim.headers or not usable:
        return Explanation(checks=(*checks, *of_secrets))
    suspect, difference = _suspect(given, body)
    return Explanation(checks=(*checks, *of_secrets, suspect), difference=difference)


def _claim_in(given: Mapping[str, str], now: datetime) -> tuple[_Claim, list[SignatureCheck]]:
    """The values to compare, and the problems of the headers themselves."""
    if not any(name in given for name in (*_STANDARD_HEADERS, PUBLISHED)):
        what = f"have neither {', '.join(_STANDARD_HEADERS)} nor {PUBLISHED}, so there is nothing to check"
        return _Claim(), [_bad("headers", what, "give them as they came; a proxy may have dropped them")]
    checks: list[SignatureCheck] = []
    claim = _Claim()
    if any(name in given for name in _STANDARD_HEADERS):
        claim, checks = _standard_claim(given, now)
    if PUBLISHED in given:
        if _HEX_OF_SHA512.fullmatch(given[PUBLISHED]):
            claim = msgspec.structs.replace(claim, published=given[PUBLISHED])
        else:
            what = f"has {len(given[PUBLISHED])} characters, and no 128 lower-case hexadecimal digits"
            checks.append(_bad(PUBLISHED, what, "it is the HMAC-SHA512 of the body; pass it on as it came"))
    return claim, checks


def _standard_claim(given: Mapping[str, str], now: datetime) -> tuple[_Claim, list[SignatureCheck]]:
    missing = [name for name in _STANDARD_HEADERS if not given.get(name)]
    checks = [_bad(name, "is missing", "Standard Webhooks signs all three headers together") for name in missing]
    if TIMESTAMP not in missing:
        checks.append(_check_of_timestamp(given[TIMESTAMP], now))
    signatures = tuple(word for word in given.get(STANDARD, "").split() if word.startswith("v1,"))
    if STANDARD not in missing and not signatures:
        checks.append(_bad(STANDARD, "carries no signature that begins with v1,", "pass it on as it came"))
    if missing or not signatures or not _SECONDS.fullmatch(given[TIMESTAMP]):
        return _Claim(), checks
    return _Claim(event_id=given[ID], timestamp_s=int(given[TIMESTAMP]), standard=signatures), checks


def _check_of_timestamp(text: str, now: datetime) -> SignatureCheck:
    if not _SECONDS.fullmatch(text):
        is_milli = _MILLISECONDS.fullmatch(text) is not None
        what = "is in milliseconds" if is_milli else "is no whole number of seconds"
        return _bad(TIMESTAMP, f"{what}: {text[:40]!r}", "Tidegate sends seconds since 1970; pass it on as it came")
    age_s = int(now.timestamp()) - int(text)
    limit_s = int(TOLERANCE.total_seconds())
    if abs(age_s) <= limit_s:
        return _well(TIMESTAMP, f"is {age_s} s old" if age_s >= 0 else f"is {-age_s} s ahead of this clock")
    if age_s > 0:
        what = f"is {age_s:,} s old, and {limit_s} s are allowed"
        return _bad(TIMESTAMP, what, "an old request that comes again, or one that was kept; or this clock is fast")
    what = f"is {-age_s:,} s in the future, and {limit_s} s are allowed"
    return _bad(TIMESTAMP, what, f"this clock is slow: it says {now:%Y-%m-%d %H:%M:%S} UTC")


def _usable(secrets: Sequence[str]) -> tuple[list[_Secret], list[SignatureCheck]]:
    """The usable ones, well-formed first, then those that could be corrected; and the problems of all."""
    well, mended, checks = [], [], []
    for number, text in enumerate(secrets, 1):
        name = f"secret {number}" if len(secrets) > 1 else "secret"
        problem = _problem_in(text)
        if problem is None:
            well.append(_Secret(text=text, name=name))
            continue
        checks.append(_bad(name, problem, "copy it again from where the endpoint was created, or rotate it"))
        repaired, mistake = _repaired(text)
        if _problem_in(repaired) is None:
            mended.append(_Secret(text=repaired, name=name, mistake=mistake))
    if not secrets:
        checks.append(_bad("secret", "is missing", "give the one that was shown when the endpoint was created"))
    return well + mended, checks


def _problem_in(secret: str) -> str | None:
    if secret.startswith(("sk_", "pk_")):
        return "is an API key; a webhook has a secret of its own, which begins with whsec_"
    try:
        sign.key_in(secret)
    except ValueError as error:
        return f"is malformed: it {error}"
    return None


def _repaired(text: str) -> tuple[str, str]:
    """The probable intended secret, and what is wrong with the given one."""
    mistakes = []
    bare = text.strip().strip("\"'")
    if bare != text:
        mistakes.append("has quotes, spaces or a line break around it")
    if not bare.startswith(sign.PREFIX):
        mistakes.append(f"lacks its beginning, {sign.PREFIX}")
    base64 = bare.removeprefix(sign.PREFIX)
    usual = base64.replace("-", "+").replace("_", "/").rstrip("=")
    usual += "=" * (-len(usual) % 4)
    if usual != base64:
        mistakes.append("is not in plain base64 with its = at the end")
    return sign.PREFIX + usual, " and ".join(mistakes)


def _proofs(claim: _Claim, body: bytes, secrets: Sequence[_Secret]) -> dict[str, _Proof]:
    """The first match per header: the body as given with any secret, before any other form of it."""
    proofs: dict[str, _Proof] = {}
    for form in _forms(body):
        for secret in secrets:
            for header in _fitting(claim, form.body, secret.text):
                proofs.setdefault(header, _Proof(secret, form))
        if len(proofs) == len(claim.headers):
            break
    return proofs


def _forms(body: bytes) -> Iterator[BodyForm]:
    yield BodyForm(body, _AS_IT_IS)
    yield from restore.forms_of(body)


def _fitting(claim: _Claim, body: bytes, secret: str) -> list[str]:
    made = sign.headers(claim.event_id, body, [secret], timestamp_s=claim.timestamp_s)
    fitting = []
    if any(hmac.compare_digest(word.encode(), made[STANDARD].encode()) for word in claim.standard):
        fitting.append(STANDARD)
    if claim.published is not None and hmac.compare_digest(claim.published, made[PUBLISHED]):
        fitting.append(PUBLISHED)
    return fitting


def _check_of(header: str, proofs: Mapping[str, _Proof], secrets: int) -> SignatureCheck:
    proof = proofs.get(header)
    other = next((found for name, found in proofs.items() if name != header), None)
    if proof is None and other is None:
        which = "with the secret that was given" if secrets == 1 else "with any secret that was given"
        return _bad(header, f"does not fit this body {which}")
    if proof is None:
        return _bad(header, *_WHY_ONLY_THE_OTHER[header])
    if proof.form.happened:
        return _bad(header, f"fits the body that was sent, and not this one: {proof.form.happened}")
    if proof.secret.mistake:
        return _bad(header, f"fits, once the secret is corrected: it {proof.secret.mistake}")
    return _well(header, f"fits, with {proof.secret.name}" if secrets > 1 else "fits")


# One header matches, so body and secret are right; the cause is something that only the other header depends on.
_WHY_ONLY_THE_OTHER = {
    STANDARD: (
        f"does not fit, though {PUBLISHED} does: {ID} or {TIMESTAMP} is not the one that was sent with it",
        "take all headers from the same request, unchanged",
    ),
    PUBLISHED: (
        f"does not fit, though {STANDARD} does: the secret was rotated, and {PUBLISHED} is the new one's at once",
        f"give the new secret too, or check {STANDARD}, which carries both for a day",
    ),
}


def _mended(secret: _Secret) -> SignatureCheck:
    return _bad(secret.name, secret.mistake, f"write it as it was shown: {sign.PREFIX} and base64, nothing around it")


def _changed(form: BodyForm) -> SignatureCheck:
    return _bad("body", f"is not as it was sent: {form.happened}", "check the raw bytes, before anything parses them")


def _suspect(given: Mapping[str, str], body: bytes) -> tuple[SignatureCheck, Difference | None]:
    """Nothing matches. The form of the body shows which is more likely: a changed body or a wrong secret."""
    length = given.get("content-length", "")
    if not body:
        return _bad("body", "is empty", "something has read it before; check the raw bytes first"), None
    if length.isascii() and length.isdigit() and int(length) != len(body):
        what = f"has {len(body):,} bytes, and content-length says {int(length):,}"
        return _bad("body", what, "read all of it, and check the raw bytes"), None
    if restore.is_cut_off(body):
        return _bad("body", f"is cut off after {len(body):,} bytes", "read all of it"), None
    written = restore.as_we_write(body)
    if written is None:
        return _bad(
            "body", "is not JSON, so it is not what was sent", "check the raw bytes, before anything else"
        ), None
    if written != body:
        what = (
            "is not as Tidegate writes it: it was parsed and written again, and too much of it has changed to restore"
        )
        difference = restore.difference_between(sent=written, given=body)
        return _bad("body", what, "check the raw bytes, before anything parses them"), difference
    advice = (
        "is this the secret of this endpoint, and of this sandbox or live account? After a rotation an old one ends "
        "within a day. Sorted keys or changed values would also do this"
    )
    return _bad("secret", "is probably another one: the body looks exactly as Tidegate writes it", advice), None


def _well(subject: str, what: str) -> SignatureCheck:
    return SignatureCheck(subject=subject, is_well=True, what=what)


def _bad(subject: str, what: str, advice: str = "") -> SignatureCheck:
    return SignatureCheck(subject=subject, is_well=False, what=what, advice=advice)
