"""A page of the documentation: what it says, and where it stands among the others."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

ROOT = "/docs"


@dataclass(frozen=True)
class Heading:
    level: int
    anchor: str
    text: str
    # What stands below it, for search.
    words: str = ""
    # Other words for it.
    keywords: str = ""


@dataclass(frozen=True)
class PageContent:
    """The part of a page that is made once, on its first request."""

    html: Markup
    markdown: str
    headings: tuple[Heading, ...] = ()
    # Languages of its samples, in the order of their tabs.
    languages: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PageHead:
    path: str
    title: str
    lead: str
    # Of the bar at the top: Guides, Reference, Testing.
    area: str
    # Of the navigation at the side.
    group: str
    template: str = "guide.html"
    # Short facts under the lead: how long it takes, what it needs.
    facts: tuple[str, ...] = ()
    badge: str = ""
    has_markdown: bool = True

    @property
    def markdown_path(self) -> str:
        return f"{self.path}.md" if self.path != ROOT else f"{ROOT}/index.md"


@dataclass(frozen=True)
class NavGroup:
    name: str
    pages: tuple[PageHead, ...]
