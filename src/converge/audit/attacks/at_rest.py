"""At rest: nothing to do, so nothing is written, and nothing is asked for again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from converge.audit.attacks.base import NOTE, WARNING, Args, Attack, AttackContext, Outcome, always
from converge.audit.learn import Learned
from converge.audit.target import AuditTarget
from converge.testing import attacks
from converge.testing.attacks.at_rest import HINT
from converge.testing.verdicts.failure import Failure

AT_REST = "at-rest"
TOUCHED, RESTARTED = {"moment": "touched"}, {"moment": "restarted"}
LEFT_ALONE = 35.0  # seconds: many operators do something every 30
FEWEST_READS_OF_A_POLL = 3  # reads of the same thing in that time: one or two may be a watch that begins again
READS_HINT = "A watch tells you when something changes. Ask again by the clock only for what no watch can tell."


def _at_rest(target: AuditTarget, context: AttackContext, cases: Sequence[Args]) -> Iterator[Outcome]:
    for args in cases:
        operator = target.operator
        try:
            app = target.running()
            if args == RESTARTED:
                attacks.no_writes_after_restart(operator, app, hint=HINT)
            else:
                attacks.no_writes_after_touch(operator, app, hint=HINT)
            yield Outcome(args)
        except Failure as failure:
            yield _wrote(args, failure)


def _wrote(args: Args, failure: Failure) -> Outcome:
    """It wrote at rest.

    Once per start, and the server throws it away: that's worth a note. So is server-side apply, which is made for
    saying the same again.
    """
    only_said = args == RESTARTED or _applies(failure.got)
    return Outcome(args, failure, severity=NOTE if only_said and _futile(failure.got) else "")


def touched_twice(learned: Learned) -> tuple[Args, Outcome, Any] | None:
    """The case of a touch, if both clean runs have answered it, and in the same way; with the second recording."""
    if len(learned.touches) != 2 or len({bool(each.failure) for each in learned.touches}) == 2:
        return None
    failure = learned.touches[-1].failure
    outcome = _wrote(TOUCHED, failure) if failure else Outcome(TOUCHED)
    return TOUCHED, outcome, learned.touches[-1].recorded


def _futile(got: str) -> bool:
    """Whether no write of these changed anything."""
    found = re.match(r"(\d+) writes?, (\d+) of which changed nothing", got)
    return bool(found) and found[1] == found[2] if found else False


def _applies(got: str) -> bool:
    """Whether all of these writes that are shown apply something."""
    shown = [line for line in got.splitlines()[1:] if line != "…"]
    return bool(shown) and all(line.startswith("APPLY ") for line in shown)


def _left_alone(target: AuditTarget, context: AttackContext, cases: Sequence[Args]) -> Iterator[Outcome]:
    for args in cases:
        try:
            app = target.running()
            mark = target.operator.recorder.mark()
            attacks.no_writes_left_alone(target.operator, app, seconds=LEFT_ALONE, hint=HINT)
        except Failure as failure:
            said = _futile(failure.got) and _applies(failure.got)
            yield Outcome(args, failure, severity=NOTE if said else "")
            continue
        yield Outcome(args)
        if polled := _polled(target, mark):
            yield Outcome({**args, "what": "reads"}, polled, severity=NOTE)


def _polled(target: AuditTarget, mark: float) -> Failure | None:
    """What it keeps asking for, if there's anything: that's no mistake, but it costs, and the author should know."""
    operator = target.operator
    reads = [each for each in operator.recorder.since(mark).reads() if each.resource and not operator.ignored(each)]
    asked = Counter(f"{each.verb.upper()} {each.resource}" for each in reads)
    many = {what: count for what, count in asked.items() if count >= FEWEST_READS_OF_A_POLL}
    if not many:
        return None
    return Failure(
        when=f"nobody touched anything for {LEFT_ALONE:g} s",
        expected="it waits for its watches to tell it of changes",
        got="\n".join(f"{what}: {count} times" for what, count in sorted(many.items())),
        hint=READS_HINT,
    )


ATTACKS = (
    Attack(
        AT_REST,
        "touched and started again: nothing to do, nothing written",
        WARNING,
        always(TOUCHED, RESTARTED),
        _at_rest,
    ),
    Attack("left-alone", f"left alone for {LEFT_ALONE:g} s", WARNING, always({}), _left_alone),
)
