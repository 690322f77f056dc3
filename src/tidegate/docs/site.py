"""The pages of the documentation, in the order of their navigation. A page is made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from tidegate.core.method import USUAL_NAMES, Method, MethodNames
from tidegate.core.money import CHECKOUT_OFFERS
from tidegate.docs import reference as api
from tidegate.docs.markdown import Document, LinkTo, anchor_of, coloured, front_matter
from tidegate.docs.page import ROOT, Heading, NavGroup, PageContent, PageHead
from tidegate.docs.prose import breakable, prose
from tidegate.docs.search import SearchEntry
from tidegate.infra.http.openapi import EVENTS_TAG, EventDocument
from tidegate.infra.http.operation import Operation

_PACKAGE = "tidegate.docs"
# Folder, area of the bar at the top, group at the side, and the files in their order.
_GUIDES = (
    ("start", "Guides", "Start", ("first-payment", "how-a-payment-goes", "keys-and-modes")),
    (
        "guides",
        "Guides",
        "Guides",
        (
            "accept-a-payment",
            "payment-links",
            "verify-a-payment",
            "embed-the-checkout",
            "receive-webhooks",
            "under-and-overpayment",
            "refund",
            "receive-usd-and-eur",
            "the-name-rule",
            "wallets-and-statements",
            "receipts-by-e-mail",
            "your-own-page",
            "idempotency-and-retries",
            "lists-and-cursors",
            "go-live",
            "move-from-another-provider",
            "what-tidegate-does-not-do",
        ),
    ),
    ("libraries", "Guides", "Libraries", ("python", "typescript", "other-languages", "command-line")),
    (
        "testing",
        "Testing",
        "Testing",
        ("cards-phones-transfers", "trigger-events", "the-clock", "in-your-ci", "demo-shop"),
    ),
)
CHANGELOG = f"{ROOT}/changelog"
# The bar at the top: area and its first page.
AREAS = (
    ("Guides", f"{ROOT}/start/first-payment"),
    ("Reference", api.FOLDER),
    ("Testing", f"{ROOT}/testing/cards-phones-transfers"),
    ("Changelog", CHANGELOG),
)

MakeContent = Callable[[LinkTo], PageContent]


@dataclass(frozen=True)
class _Page:
    head: PageHead
    content: MakeContent
    headings: Callable[[], tuple[Heading, ...]] = tuple
    # Names in it to find it by: fields, paths.
    names: Callable[[], Iterable[str]] = tuple
    # Other words that readers use for it.
    keywords: str = ""


class DocsSite:
    def __init__(
        self, make_document: Callable[[], Mapping[str, Any]], base_url: str, operations: Sequence[Operation],
        events: Sequence[EventDocument] = (), names: MethodNames = USUAL_NAMES,
    ) -> None:  # fmt: skip
        """The OpenAPI document is made when it is first needed: most processes never are asked for it. `base_url` and
        `names` are its own."""
        self._make_document = make_document
        self.base_url = base_url
        self.operations, self._events = operations, events
        self._names = names
        self._groups = api.by_group(operations)
        self._environment = Environment(
            loader=PackageLoader(_PACKAGE),
            # Templates of Markdown write text.
            autoescape=select_autoescape(("html",)),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(
            prose=prose, coloured=coloured, breakable=breakable, anchor=anchor_of, slug=api.slug_of
        )
        self._environment.filters["zip"] = zip
        self._markdown: dict[str, str] = {}
        self._pages = {page.head.path: page for page in self._all_pages()}

    @cached_property
    def document(self) -> Mapping[str, Any]:
        return self._make_document()

    @cached_property
    def reference(self) -> api.ApiReference:
        return api.ApiReference(self.document, self.operations, self._events)

    @property
    def title(self) -> str:
        return str(self.document["info"]["title"])

    @property
    def version(self) -> str:
        return str(self.document["info"]["version"])

    @property
    def heads(self) -> list[PageHead]:
        return [page.head for page in self._pages.values()]

    def head(self, path: str) -> PageHead:
        return self._pages[path].head

    def content(self, path: str, link: LinkTo) -> PageContent:
        return self._pages[path].content(link)

    def markdown(self, path: str) -> str:
        """The page for programs; made once."""
        if path not in self._markdown:
            self._markdown[path] = self.content(path, str).markdown
        return self._markdown[path]

    def navigation(self, area: str) -> list[NavGroup]:
        groups: dict[str, list[PageHead]] = {}
        for head in self.heads:
            if head.area == area and head.group:
                groups.setdefault(head.group, []).append(head)
        return [NavGroup(name, tuple(pages)) for name, pages in groups.items()]

    def neighbours(self, head: PageHead) -> tuple[PageHead | None, PageHead | None]:
        """The page before and the one after it, in the navigation."""
        near = [each for group in self.navigation(head.area) for each in group.pages]
        if head not in near:
            return None, None
        at = near.index(head)
        return near[at - 1] if at else None, near[at + 1] if at + 1 < len(near) else None

    def render(self, template: str, **facts: Any) -> str:
        return self._environment.get_template(template).render(**facts)

    @cached_property
    def index(self) -> list[SearchEntry]:
        """What search looks through: pages, their headings, fields, errors and events."""
        return list(self._entries())

    def _entries(self) -> Iterator[SearchEntry]:
        for page in self._pages.values():
            head = page.head
            where = " / ".join(dict.fromkeys(part for part in (head.area, head.group) if part and part != head.title))
            words = " ".join((head.lead, *dict.fromkeys(page.names())))
            yield SearchEntry(head.title, head.path, where, words, page.keywords)
            for heading in page.headings():
                if heading.level <= 3:
                    place = f"{head.path}#{heading.anchor}"
                    yield SearchEntry(heading.text, place, head.title, heading.words, heading.keywords)
        yield from self._field_entries()

    def _field_entries(self) -> Iterator[SearchEntry]:
        """A name once: the first operation or event that has it tells what it is."""
        found: dict[str, SearchEntry] = {}
        for operation in self.reference.operations.values():
            page = f"{api.FOLDER}/{api.slug_of(operation.name)}"
            for name, anchor in self.reference.field_anchors(operation):
                found.setdefault(name, SearchEntry(name, f"{page}#{anchor}", operation.summary, ""))
        for event in self.reference.events.values():
            page = f"{api.FOLDER}/events/{event.name}"
            for name, anchor in self.reference.event_field_anchors(event):
                found.setdefault(name, SearchEntry(name, f"{page}#{anchor}", event.name, ""))
        yield from found.values()

    # Pages.

    def _all_pages(self) -> Iterator[_Page]:
        yield self._overview()
        for folder, area, group, names in _GUIDES:
            for name in names:
                yield self._guide(f"{folder}/{name}", area, group)
        yield from self._reference_pages()
        yield self._changelog()

    def _overview(self) -> _Page:
        head = PageHead(
            ROOT, "Documentation", "Hosted checkout and foreign-currency inflows, from first payment to going live.",
            "Guides", "", "overview.html",
        )  # fmt: skip

        def content(link: LinkTo) -> PageContent:
            areas = [(name, self.navigation(name)) for name in ("Guides", "Testing", "Reference")]
            return self._generated("overview", link, areas=areas)

        return _Page(head, content)

    def _changelog(self) -> _Page:
        text = (files(_PACKAGE) / "pages" / "changelog.md").read_text(encoding="utf-8")
        _, lead, body = text.split("\n\n", 2)
        head = PageHead(CHANGELOG, "Changelog", lead.replace("\n", " "), "Changelog", "")

        def dates() -> tuple[Heading, ...]:
            """Found by its dates only: what it tells of is found where it is explained."""
            return tuple(replace(heading, words="") for heading in Document(body).headings)

        return _Page(head, lambda link: self._from_markdown(head, body, link), dates)

    def _guide(self, name: str, area: str, group: str) -> _Page:
        facts, text = front_matter((files(_PACKAGE) / "pages" / f"{name}.md").read_text(encoding="utf-8"))
        # At once, since search reads the text, too.
        text = text.replace("{{ ussd }}", self._names.in_request(Method.USSD))
        text = text.replace("{{ ussd in records }}", self._names.in_record(Method.USSD))
        head = PageHead(
            f"{ROOT}/{name}", facts["title"], facts["lead"], area, group,
            facts=tuple(facts[key] for key in ("time", "needs") if key in facts),
        )  # fmt: skip
        return _Page(
            head,
            lambda link: self._from_markdown(head, text, link),
            lambda: Document(text).headings,
            keywords=facts.get("keywords", ""),
        )

    def _from_markdown(self, head: PageHead, text: str, link: LinkTo) -> PageContent:
        for name, value in self._inclusions.items():
            text = text.replace(f"{{{{ {name} }}}}", value)
        document = Document(text)
        markdown = f"# {head.title}\n\n{head.lead}\n\n{text}"
        return PageContent(document.html(link), markdown, document.headings, document.languages)

    @cached_property
    def _inclusions(self) -> dict[str, str]:
        events = [self.reference.event(event) for event in self.reference.events.values()]
        return {
            "base_url": self.base_url,
            "events": self.render("events.md", events=events),
            "methods": self.render("methods.md", currencies=CHECKOUT_OFFERS, names=self._names),
            "payloads": self.render("payloads.md", events=events),
        }

    def _reference_pages(self) -> Iterator[_Page]:
        group = "About"
        first = PageHead(
            api.FOLDER, "API reference", "Every operation, every field, every error.", "Reference", group, "plain.html"
        )
        yield _Page(first, self._operations)
        yield self._guide("reference/conventions", "Reference", group)
        errors = PageHead(
            api.ERRORS_PATH, "Errors", "Every errorType: its cause, what to do, and a body as it could be.",
            "Reference", group,
        )  # fmt: skip
        yield _Page(errors, self._errors, self._error_headings)
        yield self._guide("reference/glossary", "Reference", group)
        for name, members in self._groups.items():
            yield from (self._operation(operation, name) for operation in members)
        yield from (self._event(event) for event in self._events)

    def _operations(self, link: LinkTo) -> PageContent:
        words = {tag["name"]: tag["description"] for tag in self.document["tags"]}
        return self._generated("operations", link, groups=self._groups, words=words)

    def _operation(self, operation: Operation, group: str) -> _Page:
        head = PageHead(
            f"{api.FOLDER}/{api.slug_of(operation.name)}", operation.summary, operation.description, "Reference", group,
            "operation.html", badge=operation.method,
        )  # fmt: skip

        def content(link: LinkTo) -> PageContent:
            view = self.reference.operation(operation)
            languages = tuple((sample.language, sample.title) for sample in view.samples)
            return replace(self._generated("operation", link, operation=view), languages=languages)

        names = (operation.name, operation.path)
        return _Page(head, content, names=lambda: (*names, *self.reference.field_names(operation)))

    def _event(self, event: EventDocument) -> _Page:
        head = PageHead(
            f"{api.FOLDER}/events/{event.name}", event.name, event.description, "Reference", EVENTS_TAG, "plain.html"
        )

        def content(link: LinkTo) -> PageContent:
            return self._generated("event", link, event=self.reference.event(event))

        return _Page(head, content, names=lambda: self.reference.event_field_names(event))

    def _errors(self, link: LinkTo) -> PageContent:
        made = self._generated("errors", link, errors=list(api.error_views()))
        return replace(made, headings=self._error_headings())

    def _error_headings(self) -> tuple[Heading, ...]:
        return tuple(
            Heading(
                2,
                anchor_of(view.error_type),
                view.error_type,
                " ".join(guide.cause for guide in view.guides),
                " ".join(map(str, view.statuses)),
            )
            for view in api.error_views()
        )

    def _generated(self, name: str, link: LinkTo, **facts: Any) -> PageContent:
        """By a template each for people and for programs."""
        html = Markup(self.render(f"{name}_body.html", link=link, **facts))  # noqa: S704 - the template escapes
        return PageContent(html, self.render(f"{name}.md", base_url=self.base_url, link=link, **facts))
