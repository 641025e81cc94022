"""What lessons show as output is what the commands print, and what they show as a run was one."""

import pytest
from places import ROOT

from converge import cluster
from converge.grader import course
from converge.site import timelines, transcripts
from converge.site.timelines import RecordedTimeline
from converge.site.transcripts import Transcript

ENTRIES = transcripts.load(ROOT)
TIMELINES = timelines.load(ROOT)

# The commands of one lesson share a namespace, so one worker of `pytest -n` runs them one after another.
each_entry = pytest.mark.parametrize(
    "entry", [pytest.param(entry, marks=pytest.mark.xdist_group(entry.lesson)) for entry in ENTRIES], ids=str
)


@each_entry
def test_the_output_is_that_of_the_command_as_it_is_written_now(entry: Transcript) -> None:
    assert entry.file.exists(), f"not recorded yet: make recorded NAME={entry}"
    assert entry.file.read_text().startswith(f"$ {entry.run}\n"), f"record it again: make recorded NAME={entry}"


def test_every_recording_has_its_entry() -> None:
    kept = {path for kind in ("*.txt", "*.svg") for path in (ROOT / transcripts.FOLDER).glob(kind)}
    assert kept - {entry.file for entry in [*ENTRIES, *TIMELINES]} == set()


@pytest.mark.parametrize("entry", TIMELINES, ids=str)
def test_a_timeline_is_of_the_check_that_its_entry_names(entry: RecordedTimeline) -> None:
    assert course.load(ROOT).find(entry.lesson).check(entry.timeline)
    assert entry.file.exists(), f"not recorded yet: make recorded NAME={entry}"
    assert entry.file.read_text().startswith(entry.origin), f"record it again: make recorded NAME={entry}"


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(420)
@each_entry
def test_the_command_still_prints_that(entry: Transcript) -> None:
    cluster.ensure()
    recorded_then = entry.without_volatile_text(entry.file.read_text())
    now = performed(entry, CONVERGE_DEADLINE_FACTOR="0.5")  # a wrong answer takes all its time
    if now != recorded_then:
        now = performed(entry)
    assert now == recorded_then, f"if right: make recorded NAME={entry}"


def performed(entry: Transcript, **variables: str) -> str:
    """What it prints now, or how it ended; both without what may differ."""
    try:
        return entry.without_volatile_text(entry.perform(**variables))
    except RuntimeError as error:  # not the exit code that it must have
        return str(error)


def test_times_ports_and_ids_are_not_what_an_output_says() -> None:
    entry = Transcript(root=ROOT, lesson="00_none", name="none", run="true", differs=("web-[a-z]{3}",))
    one = "web-abc  3 points in 1.4 s at 127.0.0.1:4711"
    assert entry.same(one, "web-xyz 3 points in 12 s at 127.0.0.1:81")
    assert entry.same("converge Ready 94s", "converge Ready 5m4s")
    assert not entry.same(one, one.replace("3 points", "2 points"))


def test_a_recording_has_no_paths_of_the_machine_and_needs_the_right_exit_code() -> None:
    entry = Transcript(root=ROOT, lesson="00_none", name="none", run="pwd; echo $PWD/docs; exit 3", exit=3)
    assert entry.perform() == "$ pwd; echo $PWD/docs; exit 3\n.\ndocs\n"
    beside = Transcript(root=ROOT, lesson="00_none", name="none", run=f"echo {ROOT}-home/x")
    assert f"{ROOT}-home/x" in beside.perform(), "a directory beside the course is none of its own"
    with pytest.raises(RuntimeError, match="ended with 3, not 0"):
        Transcript(root=ROOT, lesson="00_none", name="none", run="exit 3").perform()


def test_what_comes_after_is_run_even_when_the_command_fails(tmp_path: object) -> None:
    left = f"{tmp_path}/left"
    entry = Transcript(root=ROOT, lesson="0", name="n", run="exit 1", before=(f"touch {left}",), after=(f"rm {left}",))
    with pytest.raises(RuntimeError):
        entry.perform()
    assert not (ROOT / left).exists()
