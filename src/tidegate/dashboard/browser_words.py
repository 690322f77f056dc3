"""A browser and its system in plain words, from what it says of itself. Pure."""

from __future__ import annotations

# The first that is found: most browsers also name those that they are like.
_BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
_SYSTEMS = {
    "iPhone": "an iPhone",
    "iPad": "an iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS X": "a Mac",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


def browser_words(user_agent: str) -> str:
    """Firefox on Windows. It is what the browser says, so it proves nothing."""
    browser = _first(_BROWSERS, user_agent) or "A browser"
    system = _first(_SYSTEMS, user_agent)
    return f"{browser} on {system}" if system else browser


def _first(words: dict[str, str], text: str) -> str:
    return next((word for mark, word in words.items() if mark in text), "")
