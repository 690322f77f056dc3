"""Markdown to HTML: headings with anchors, tables, highlighted code with a tab for each language. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from tidegate.docs.guide_request import Plan, plans_of
from tidegate.docs.page import Heading
from tidegate.docs.search import words_in
from tidegate.infra.lazy_module import LazyModule

if TYPE_CHECKING:
    import markdown_it
    import pygments
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from pygments import formatters, lexers
else:
    # 3 MB, for the documentation only.
    markdown_it, pygments = LazyModule("markdown_it"), LazyModule("pygments")
    formatters, lexers = LazyModule("pygments.formatters"), LazyModule("pygments.lexers")

_ALONE = {"sh": "Shell", "python": "Python", "js": "Node", "php": "PHP"}
# Of what a reader types before the program.
_TERMINAL = "Terminal"
# The languages of samples, in the order of their tabs. Other code stands by itself.
LANGUAGES = {"sh": "curl", "python": "Python", "js": "Node", "php": "PHP"}
# Code in a line of text that fits on any phone is not broken at its end, such as behind a question mark.
UNBROKEN_MAX = 24
_STEP = re.compile(r"(\d+)\. +")
_FACT = re.compile(r"(\w+): *(.*)")

LinkTo = Callable[[str], str]


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The facts between two lines of dashes at the top, and what follows."""
    _, head, body = text.split("---\n", 2)
    facts = {match[1]: match[2] for line in head.splitlines() if (match := _FACT.fullmatch(line))}
    return facts, body.lstrip("\n")


def anchor_of(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


# A page is made for people and for programs, and many samples stand on several pages.
@lru_cache(maxsize=1_000)
def coloured(text: str, language: str) -> Markup:
    # The formatter escapes.
    options = {"startinline": True} if language == "php" and not text.startswith("<?php") else {}
    lexer = lexers.get_lexer_by_name(_LEXERS.get(language, language), **options)
    return Markup(pygments.highlight(text, lexer, formatters.HtmlFormatter(nowrap=True)))  # noqa: S704


_LEXERS = {"sh": "bash"}


@cache
def _parser() -> MarkdownIt:
    return markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True)
class CodeSample:
    language: str
    title: str
    code: Markup


class Document:
    def __init__(self, text: str) -> None:
        self._tokens = _parser().parse(text)

    @property
    def languages(self) -> tuple[tuple[str, str], ...]:
        found = {token.info.split()[0] for token in self._tokens if token.type == "fence" and token.info}
        return tuple((name, title) for name, title in LANGUAGES.items() if name in found)

    @property
    def samples(self) -> tuple[CodeSample, ...]:
        """For a page that lays them out by itself."""
        found = {token.info: token.content for token in self._tokens if token.type == "fence"}
        return tuple(CodeSample(name, title, coloured(found[name], name)) for name, title in self.languages)

    @property
    def headings(self) -> tuple[Heading, ...]:
        found: list[Heading] = []
        below: list[list[str]] = []
        tokens = iter(self._tokens)
        for token in tokens:
            if token.type == "heading_open":
                text = _STEP.sub("", _text(next(tokens)))
                found.append(Heading(int(token.tag[1]), anchor_of(text), text))
                below.append([])
            elif token.type == "inline" and below:
                below[-1].append(_text(token))
        return tuple(
            replace(heading, words=" ".join(words_in(" ".join(texts))))
            for heading, texts in zip(found, below, strict=True)
        )

    def html(self, link: LinkTo) -> Markup:
        """`link` turns a path of the site into the address that a page uses for it."""
        out = Markup()
        anchors = iter(self.headings)
        languages, plans = [name for name, _ in self.languages], self._plans()
        for is_fence, run in groupby(self._tokens, lambda token: token.type == "fence"):
            tokens = list(run)
            out += _fences(tokens, languages) if is_fence else _prose(tokens, link, anchors)
            for plan in [plans[token.content] for token in tokens if plans.get(token.content)]:
                out += (_ASKING_RUNNER if _is_final(plan) else _RUNNER).format(json.dumps(plan))
        return out

    def _plans(self) -> dict[str, Plan]:
        """Of the samples that can be run, by their text."""
        samples = [token.content for token in self._tokens if token.type == "fence" and _runs(token.info)]
        return dict(zip(samples, plans_of(samples), strict=True))


def _runs(info: str) -> bool:
    return info.startswith("sh") and not {"install", "serve"} & {*info.split()}


def _is_final(plan: Plan) -> bool:
    """A clock cannot be set back."""
    return any(request["path"] == "/sandbox/clock" and request["body"] for request in plan)


def _text(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _prose(tokens: list[Token], link: LinkTo, anchors: Iterator[Heading]) -> Markup:
    for token, inline in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and inline:
            token.attrSet("id", next(anchors).anchor)
            _take_step(token, inline)
        for child in token.children or ():
            if child.type == "link_open" and str(child.attrGet("href")).startswith("/"):
                child.attrSet("href", link(str(child.attrGet("href"))))
            if child.type == "code_inline" and len(child.content) <= UNBROKEN_MAX:
                child.attrSet("class", "unbroken")
    # The parser lets no HTML of the text through.
    return Markup(_parser().renderer.render(tokens, _parser().options, {}))  # noqa: S704


def _take_step(token: Token, inline: Token) -> None:
    """A number at the start of a heading is shown beside it."""
    first = inline.children[0] if inline.children else None
    step = _STEP.match(first.content) if first else None
    if first and step:
        first.content = first.content[step.end() :]
        token.attrSet("class", "step")
        token.attrSet("data-step", step[1])


def _fences(tokens: Sequence[Token], languages: Sequence[str]) -> Markup:
    """Neighbours in different languages are one sample; the page's choice of language shows one of them."""
    out = Markup()
    samples: list[tuple[str, str, Markup]] = []
    for token in tokens:
        language, _, rest = token.info.partition(" ")
        if language in LANGUAGES and rest == "install":
            samples.append((language, _TERMINAL, coloured(token.content, "sh")))
        elif language in LANGUAGES:
            file = rest.partition("file=")[2].split(" ")[0]
            samples.append((language, file, coloured(token.content, language)))
        else:
            out += _sample(samples, languages) + _block(language or "text", rest, token.content)
            samples = []
    return out + _sample(samples, languages)


def _sample(samples: list[tuple[str, str, Markup]], languages: Sequence[str]) -> Markup:
    """With a language that the sample does not have, the first of it is shown."""
    is_only = len(samples) == 1
    titles = _ALONE if is_only else LANGUAGES
    kind = "sample only" if is_only else "sample"
    also = " ".join(name for name in languages if name not in {language for language, _, _ in samples})
    if not is_only and all(title == _TERMINAL for _, title, _ in samples):
        # The others install nothing.
        also = ""
    out = Markup()
    for language, file, code in samples:
        out += _FIGURE.format(kind, language, also, file or titles[language], code)
        also = ""
    return out


_RUNNER = Markup('<div class="runner" hidden data-follows data-plan="{}"></div>')
_ASKING_RUNNER = Markup('<div class="runner" hidden data-follows data-asks="yes" data-plan="{}"></div>')
_FIGURE = Markup(
    '<figure class="{}" data-lang="{}" data-also="{}"><figcaption>{}</figcaption>'
    "<pre data-copy><code>{}</code></pre></figure>"
)


def _block(language: str, rest: str, text: str) -> Markup:
    code = escape(text) if language == "text" else coloured(text, language)
    block = Markup('<figure class="output"><pre><code>{}</code></pre></figure>').format(code)
    title = rest.partition("details=")[2]
    if not title:
        return block
    return Markup("<details><summary><code>{}</code></summary>{}</details>").format(title, block)
