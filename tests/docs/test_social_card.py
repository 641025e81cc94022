"""What a chat or a feed shows of a link to the site, made without any network."""

from types import SimpleNamespace

from jinja2 import DictLoader, Environment
from places import ROOT

BASE = "{% block extrahead %}{% endblock %}"


def head(site_url: str) -> str:
    templates = {"base.html": BASE, "main.html": (ROOT / "overrides" / "main.html").read_text()}
    page = SimpleNamespace(title="Drift", is_homepage=False, meta={}, canonical_url=f"{site_url}lessons/07_drift/")
    config = SimpleNamespace(site_url=site_url, site_name="Converge", site_description="The loop")
    return Environment(loader=DictLoader(templates)).get_template("main.html").render(page=page, config=config)


def test_a_published_page_has_a_card_with_absolute_addresses() -> None:
    made = head("https://site.example/converge/")
    assert '<meta property="og:title" content="Drift">' in made
    assert '<meta property="og:description" content="The loop">' in made
    assert '<meta property="og:url" content="https://site.example/converge/lessons/07_drift/">' in made
    assert '<meta property="og:image" content="https://site.example/converge/assets/card.png">' in made


def test_the_picture_of_the_card_is_there() -> None:
    picture = (ROOT / "docs" / "assets" / "card.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (1200, 630)


def test_a_site_that_does_not_know_its_address_has_no_card() -> None:
    assert head("").strip() == ""
