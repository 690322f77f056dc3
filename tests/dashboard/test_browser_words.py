"""A browser's own words, made plain where sessions are listed."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.people import SignedInPerson
from tidegate.dashboard.browser_words import browser_words

MOZILLA, LIKE = "Mozilla/5.0", "AppleWebKit/537.36 (KHTML, like Gecko)"
PLAIN = {
    f"{MOZILLA} (Windows NT 10.0; Win64; x64) {LIKE} Chrome/141.0.0.0 Safari/537.36": "Chrome on Windows",
    f"{MOZILLA} (Windows NT 10.0; Win64; x64) {LIKE} Chrome/141.0 Safari/537.36 Edg/141.0": "Edge on Windows",
    f"{MOZILLA} (Linux; Android 14; Pixel 8) {LIKE} Chrome/141.0 Mobile Safari/537.36": "Chrome on Android",
    f"{MOZILLA} (Linux; Android 14) {LIKE} SamsungBrowser/28.0 Chrome/130.0 Mobile": "Samsung Internet on Android",
    f"{MOZILLA} (X11; Linux x86_64) {LIKE} Chrome/141.0 Safari/537.36 OPR/125.0": "Opera on Linux",
    f"{MOZILLA} (X11; CrOS x86_64 14541.0.0) {LIKE} Chrome/141.0 Safari/537.36": "Chrome on ChromeOS",
    f"{MOZILLA} (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0": "Firefox on Linux",
    f"{MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) {LIKE} Version/18.5 Safari/605.1.15": "Safari on a Mac",
    f"{MOZILLA} (iPhone; CPU iPhone OS 18_5 like Mac OS X) Version/18.5 Safari/604.1": "Safari on an iPhone",
    f"{MOZILLA} (iPad; CPU OS 18_5 like Mac OS X) CriOS/141.0 Safari/604.1": "Chrome on an iPad",
    f"{MOZILLA} (iPhone; CPU iPhone OS 18_5 like Mac OS X) FxiOS/144.0 Safari/604.1": "Firefox on an iPhone",
    f"{MOZILLA} (Windows NT 10.0) Trident/7.0": "A browser on Windows",
    "curl/8.14.1": "A browser",
    "unknown": "A browser",
    "": "A browser",
}


@pytest.mark.parametrize("said", PLAIN)
def test_what_a_browser_says_of_itself_is_made_plain(said: str) -> None:
    assert browser_words(said) == PLAIN[said]


@pytest.mark.usefixtures("unlimited")
async def test_sessions_are_listed_in_plain_words(owner: SignedInPerson, admin: Any) -> None:
    said = next(iter(PLAIN))
    await admin.execute("UPDATE member_session SET browser = $1", said)
    page = (await owner.client.get("/dashboard/security")).text
    assert ("Chrome on Windows" in page, MOZILLA in page) == (True, False)
