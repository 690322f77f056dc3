"""A browser without script: shows a page's text, and sends its forms as they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

_VOID = frozenset({"input", "meta", "link", "img", "br"})
_UNSEEN = frozenset({"script", "style", "title", "noscript"})


@dataclass
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.texts: list[str] = []
        self.links: list[str] = []
        self.refresh: str | None = None
        self._open: list[str] = []
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "form":
            self.forms.append(Form(facts.get("action", ""), facts["method"]))
        elif tag == "a" and "href" in facts:
            self.links.append(facts["href"])
        elif tag == "meta" and facts.get("http-equiv") == "refresh":
            self.refresh = facts["content"]
        elif tag == "select":
            self._select = facts["name"]
        elif tag == "option" and self._select and ("selected" in facts or self._select not in self.forms[-1].fields):
            self.forms[-1].fields[self._select] = facts["value"]
        elif tag == "input" and "name" in facts and (facts["type"] != "radio" or "checked" in facts):
            self.forms[-1].fields[facts["name"]] = facts.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if not _UNSEEN.intersection(self._open):
            self.texts.append(data)


@dataclass
class Sheet:
    """A page as it was answered."""

    client: httpx.AsyncClient
    answer: httpx.Response
    forms: list[Form]
    text: str
    links: list[str]
    refresh: str | None

    @classmethod
    def of(cls, client: httpx.AsyncClient, answer: httpx.Response) -> Sheet:
        reader = _Reader()
        reader.feed(answer.text)
        text = " ".join("".join(reader.texts).split())
        return cls(client, answer, reader.forms, text, reader.links, reader.refresh)

    @property
    def status(self) -> int:
        return self.answer.status_code

    @property
    def path(self) -> str:
        return str(self.answer.url.path)

    def form(self, ending: str, **having: str) -> Form:
        """The form that is sent to an address with this ending and has these fields."""
        found = [form for form in self.forms if form.action.endswith(ending) and having.items() <= form.fields.items()]
        assert found, f"no form for {ending} among {[(form.action, form.fields) for form in self.forms]}"
        return found[0]

    async def send(self, ending: str, having: dict[str, str] | None = None, **typed: Any) -> Sheet:
        """The form with what was typed into it; a redirect is followed, as every browser does."""
        form = self.form(ending, **(having or {}))
        fields = {**form.fields, **typed}
        data = {name: value for name, value in fields.items() if value is not ...}
        answer = await self.client.post(urljoin(str(self.answer.url), form.action), data=data, follow_redirects=True)
        return Sheet.of(self.client, answer)

    async def again(self) -> Sheet:
        return await open_page(self.client, str(self.answer.url))


async def open_page(client: httpx.AsyncClient, address: str, **options: Any) -> Sheet:
    return Sheet.of(client, await client.get(address, **options))


def path_of(address: str) -> str:
    return urlsplit(address).path
