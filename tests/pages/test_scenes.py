from __future__ import annotations

import pytest

from browser import DESK, PHONE
from browser_axe import assert_accessible
from pages.scenes import SCENES, Look, looks_of
from pages.stage import Stage

# Contrast is a matter of the theme and room a matter of the width, so each of both once is enough.
EACH_ONCE = (Look(PHONE, dark=False), Look(DESK, dark=True))


@pytest.mark.parametrize("name", SCENES)
async def test_every_state_of_every_page_is_accessible(name: str, stage: Stage) -> None:
    page = await SCENES[name](stage)
    async for _ in looks_of(page, EACH_ONCE):
        await assert_accessible(page)
