"""100 to 10,000 WebApps at once: how time, memory and requests grow.

For each number, the three operators take turns, each on a fresh control plane: the objects that an API server holds
have a price, and no operator should pay for another's. Time is measured as in `throughput`, from the moment in which
the operator may begin until the last status is right, with the controller manager held still. Memory is the operator's
resident memory once it's done. Requests are counted by the API server, without those of the operator's start.
"""

from benchmarks import contenders
from benchmarks.arena import arena
from benchmarks.contenders import CONTENDERS
from benchmarks.rows import Row, figure, main, say
from benchmarks.throughput import Round, one_round

COMMAND = "python -m benchmarks.scale"
PARTS = ("100", "1000", "5000", "10000")
MEASURES = (("time", "seconds", "s"), ("memory", "memory", "MB"), ("requests", "requests", "requests"))


def run(*parts: str) -> list[Row]:
    contenders.prepare()
    return [row for part in parts or PARTS for row in rows(int(part), measured(int(part)))]


def measured(count: int) -> dict[str, Round]:
    """Let each operator serve ``count`` WebApps."""
    seen = {}
    for name in CONTENDERS:
        with arena() as here, here.without_controller_manager():
            seen[name] = one_round(here, name, count, available=False)
        say(f"   {count:,} WebApps, {name}: {seen[name]}")
    return seen


def rows(count: int, seen: dict[str, Round]) -> list[Row]:
    """The site draws these, and knows them by their names: see converge.site.scale."""
    return [
        figure(f"{count:,} WebApps, {measure}, {name}", getattr(seen[name], field), unit, COMMAND)
        for measure, field, unit in MEASURES
        for name in CONTENDERS
    ]


if __name__ == "__main__":
    main(run)
