"""The architecture page names the packages that exist, in the order that the import contracts enforce."""

import re
import tomllib

from places import ROOT

from converge.cluster import providers
from converge.grader import course as courses
from converge.grader.session.run import default_workers

PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def layers(contract: dict[str, list[str]]) -> list[set[str]]:
    return [{name.strip("() ") for name in re.split(r"[|:]", layer)} for layer in contract["layers"]]


def test_the_table_has_the_layers_of_the_contract() -> None:
    rows = re.findall(r"^\| \d+ \| (.+) \|$", PAGE, re.MULTILINE)
    assert [set(re.findall(r"`([\w.]+)`", row)) for row in rows] == layers(CONTRACTS[0])


def test_every_package_is_in_the_contract_and_has_a_paragraph() -> None:
    source = ROOT / "src" / "converge"
    packages = {f"converge.{path.parent.name}" for path in source.glob("*/__init__.py")}
    modules = {f"converge.{path.stem}" for path in source.glob("*.py") if path.stem != "__init__"}
    assert set().union(*layers(CONTRACTS[0])) == packages | modules
    assert set(re.findall(r"^### (converge\.\w+)$", PAGE, re.MULTILINE)) == packages | modules


def test_the_packages_of_the_grader_are_listed_from_the_top() -> None:
    inside = next(each for each in CONTRACTS if each.get("containers") == ["converge.grader"])
    packages = [name for layer in layers(inside) for name in layer]
    listed = re.search(r"in five packages, from the top: ([^.]+)\.", PAGE.replace("\n", " "))
    assert listed
    assert re.findall(r"`(\w+)`", listed[1]) == packages


def test_every_provider_is_in_the_contracts_that_name_providers() -> None:
    modules = sorted(entry.partition(":")[0] for entry in providers.REGISTERED.values())
    listed = [each.get("modules") or each.get("forbidden_modules") for each in CONTRACTS if "layers" not in each]
    assert [sorted(names) for names in listed if names] == [modules, modules]


def test_the_lab_that_is_followed_gets_the_workers_that_page_and_figure_say() -> None:
    lab = courses.load(ROOT).find("06")
    number = ("no", "one", "two", "three", "four")[default_workers(len(lab.checks), lab.kind == "operator")]
    assert f"Lab 06 has enough of them for {number} workers" in PAGE.replace("\n", " ")
    assert f">{number} pytest workers<" in (ROOT / "docs" / "architecture.svg").read_text()
