"""No page has a finding of axe-core, in light and dark, on a desktop and on a phone. The server runs plain Python."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from front.browser.conftest import DESKTOP, PHONE
from front.browser.test_page import CARDS, WON, address  # noqa: F401

pytestmark = pytest.mark.long
READY = ".page > :nth-child(2)"
PAGES = {
    "home": ("", ".thumbnail .board"),
    "rules": ("#/rules/friday", ".host .board"),
    "trilobite": ('#/play/trilobite?o={"board":"7x6","k":4}&p2=human&e=1&m=4~4~4', ".evaluation b"),
    "over": (WON, "#status"),
    "hint": (WON.replace("~1~2~1", ""), ".board"),
    "cassis": ("#/play/cassis?p2=human&m=0-1~2-3", ".board"),
    "trap": ("#/play/trap?p2=human&m=E~2,2&c=hand", "#luck button"),
    "threes": ("#/play/threes?s=1", ".board"),
    "friday": (f"#/play/friday?c=hand&t={CARDS}", ".card"),
    "analysis": ("#/analyse/trilobite?l=lines&k=lines&d=2&m=1~2~1~2", "#values td.best"),
    "review": ("#/review/trilobite?m=1~2~1~3~1", "#worst h2"),
    "table": ("#/follow/friday", ".choices button"),
    "companion": ("#/companion/threes", ".editor"),
    "ship": ("#/ship", ".terms strong"),
    "training": ("#/train", READY),
    "no page": ("#/nothing", "main [role=alert]"),
}


@pytest.mark.parametrize(("where", "ready"), PAGES.values(), ids=PAGES)
def test_a_page_has_no_finding(opened: Callable[..., Any], where: str, ready: str) -> None:
    page = opened().go(where)
    page.wait_for_selector(ready, state="attached")
    page.wait_for_function("() => !document.querySelector('.loading') && !document.querySelector('#halt:enabled')")
    if where == WON.replace("~1~2~1", ""):
        page.get_by_role("button", name="Hint", exact=True).click()
        page.wait_for_selector(".hints li")
    for details in page.locator("details:not([inert] *)").all():
        details.evaluate("one => { one.open = true; }")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width, height in (DESKTOP, PHONE):
            page.set_viewport_size({"width": width, "height": height})
            findings = Axe().run(page).response["violations"]
            problems = [f"{one['id']}: {node['html'][:160]}" for one in findings for node in one["nodes"]]
            assert problems == [], f"{scheme}, {width} pixels wide"
