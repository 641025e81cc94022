"""`make audit-real`: audit operators that come from package registries, at the versions of `operators.toml`.

    python -m tests.audit.real                            all of them
    python -m tests.audit.real rabbitmq-1.6.0 …           some of them
    python -m tests.audit.real NAME -- --attack walks     with options of `converge audit`
    python -m tests.audit.real --fetch NAME …             only fetch their source and what it needs
    python -m tests.audit.real --build NAME …             and build it, but audit nothing

Programs are fetched and built by the ordinary clients (go, pip) into a directory of their own, which stays. Each audit
leaves an audit.toml, a log, its findings and a report; the last thing printed is a table.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WORK = Path(os.environ.get("CONVERGE_CACHE") or Path.home() / ".cache" / "converge") / "audit-real"
OURS = re.compile(r"\{(program|bin|source)\}")  # the other placeholders are for `converge audit`
PASSED_ON = ("unique", "patience", "quiet", "in_cluster")


def main(arguments: list[str]) -> int:
    options: list[str] = []
    if "--" in arguments:
        place = arguments.index("--")
        arguments, options = arguments[:place], arguments[place + 1 :]
    stage = next((each for each in arguments if each in ("--fetch", "--build")), "")
    names = [each for each in arguments if each != stage]
    table = tomllib.loads((HERE / "operators.toml").read_text())["operator"]
    if unknown := set(names) - {each["name"] for each in table}:
        print(f"no such operator: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    rows = []
    for each in [each for each in table if not names or each["name"] in names]:
        made = Program(each)
        made.fetch()
        if stage == "--fetch":
            continue
        made.build()
        if not stage:
            rows.append(made.audit(options))
    if rows:
        print("\n| operator | cases | seconds | first finding | findings |\n|---|---|---|---|---|", *rows, sep="\n")
    return 0


class Program:
    """One operator and its directory."""

    def __init__(self, operator: dict[str, Any]) -> None:
        self.operator = operator
        self.name = operator["name"]
        self.place = WORK / self.name
        self.place.mkdir(parents=True, exist_ok=True)
        self.source = self.place / "source"
        self.program = self.place / "operator"
        self.python = self.place / "venv" / "bin" / "python"

    @property
    def _go(self) -> dict[str, str]:
        """Old modules need an old Go, which also comes from the registry."""
        return {**os.environ, "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": self.operator.get("toolchain", "auto")}

    def fetch(self) -> None:
        """Get the source and all that it needs."""
        if "go" in self.operator:
            self._fetch_module()
        elif not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.place / "venv")], check=True)
            subprocess.run([str(self.python), "-m", "pip", "install", "-q", *self.operator["pip"].split()], check=True)

    def _fetch_module(self) -> None:
        """Copy a module, so that it's built with its own go.mod and go.sum, as its author builds it."""
        package = self.operator.get("package", ".")
        if not self.source.exists():
            download = ["go", "mod", "download", "-json", self.operator["go"]]
            said = subprocess.run(download, check=True, capture_output=True, cwd=self.place)
            shutil.copytree(json.loads(said.stdout)["Dir"], self.source, copy_function=shutil.copyfile)
            for each in [self.source, *self.source.rglob("*")]:  # the module cache is read-only
                each.chmod(0o755 if each.is_dir() else 0o644)
        if not self.program.exists():
            list_ = ["go", "list", "-deps", package]
            subprocess.run(list_, check=True, cwd=self.source, env=self._go, stdout=subprocess.DEVNULL)

    def build(self) -> None:
        """Compile it, unless it was compiled before."""
        if "go" in self.operator and not self.program.exists():
            build = ["go", "build", "-o", str(self.program), self.operator.get("package", ".")]
            subprocess.run(build, check=True, cwd=self.source, env=self._go)

    def audit(self, options: list[str]) -> str:
        """Audit it, and return its row of the table."""
        print(f"== {self.name}", flush=True)
        converge, report, log = Path(sys.executable).with_name("converge"), self.place / "report.json", "log"
        report.unlink(missing_ok=True)
        shutil.rmtree(self.place / "findings", ignore_errors=True)
        asked = [*options, "--out", "findings", "--report", report.name, "--html", "report.html"]
        with (self.place / log).open("w") as file:
            subprocess.run(
                [str(converge), "audit", str(self._settings()), *asked],
                cwd=self.place,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        print((self.place / log).read_text(), flush=True)
        return row(self.name, report) if report.exists() else f"| {self.name} | – | – | – | not audited |"

    def _settings(self) -> Path:
        """Write the audit.toml that its author might have written. A list in JSON is one in TOML."""
        operator, files = self.operator, self._files()
        known = {"program": self.program, "bin": self.python.parent, "source": files}
        sample = self.place / "sample.yaml"
        if "\n" in operator["sample"]:
            sample.write_text(operator["sample"])
        else:
            shutil.copyfile(files / operator["sample"], sample)
        crds = files / operator["crds"]
        if "\n" in operator["crds"]:
            crds = self.place / "crds.yaml"
            crds.write_text(operator["crds"])
        command = [OURS.sub(lambda found: str(known[found[1]]), each) for each in operator["command"]]
        settings = {"command": command, "crds": str(crds), "sample": sample.name}
        settings |= {key: operator[key] for key in PASSED_ON if key in operator}
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        lines += ["[environment]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in operator.get("environment", {}).items()]
        path = self.place / "audit.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def _files(self) -> Path:
        """Where paths in `operators.toml` begin: in the module, or where packages are installed."""
        if "go" in self.operator:
            return self.source
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(subprocess.check_output([str(self.python), "-c", where], text=True).strip())


def row(name: str, report: Path) -> str:
    data = json.loads(report.read_text())
    cases = sum(each["cases"] - each["late"] for each in data["attacks"])
    every = [each for row in data["attacks"] for each in row["findings"]]
    found = [each["id"] for each in every if each["failed"] == each["tried"] and not each["unsure"]]
    first = f"{data['first_finding']:.0f} s" if data["first_finding"] else "–"
    return f"| {name} | {cases} | {data['seconds']:.0f} | {first} | {', '.join(found) or '–'} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
