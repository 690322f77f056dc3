"""`make shots`: pictures of every scene in every look, and a page that shows them side by side.

Tests by form, because they need all that tests have; by name not among those that `make test` collects.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment

from browser_axe import FINISH_ANIMATIONS
from pages.scenes import LOOKS, SCENES, Look, looks_of
from pages.stage import Stage

FOLDER = Path(__file__).parents[2] / "shots"
SHEET = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Every page in every state</title>
<style>
body { font: 15px system-ui; margin: 24px; background: #8b8f8d }
section { display: flex; gap: 16px; align-items: start; margin-bottom: 40px }
a { min-width: 0 }
img { display: block; width: 100%; border-radius: 6px }
</style>
{% for name, pictures in scenes.items() if pictures %}
<h2 id="{{ name }}">{{ name }}</h2>
<section>
{% for file, width in pictures.items() %}
<a href="{{ file }}" style="flex: {{ width }}"><img src="{{ file }}" alt="{{ file }}" loading="lazy"></a>
{% endfor %}
</section>
{% endfor %}
"""


def file_of(scene: str, look: Look) -> str:
    return f"{scene}-{look}.png"


@pytest.fixture(scope="module", autouse=True)
def sheet() -> Iterator[None]:
    """Shows what there is, so that a run of some scenes keeps the others."""
    FOLDER.mkdir(exist_ok=True)
    yield
    taken = {
        name: {file: look.width for look in LOOKS if (FOLDER / (file := file_of(name, look))).exists()}
        for name in SCENES
    }
    page = Environment(autoescape=True).from_string(SHEET).render(scenes=taken)
    (FOLDER / "index.html").write_text(page, encoding="utf-8")


# One after the other: the sandbox has one clock, and a scene that moves it would end the sessions of the rest.
@pytest.mark.parametrize("name", SCENES)
async def test_take_pictures(name: str, still_stage: Stage) -> None:
    page = await SCENES[name](still_stage)
    async for look in looks_of(page):
        await page.evaluate(FINISH_ANIMATIONS)
        await page.screenshot(path=FOLDER / file_of(name, look), full_page=True)
