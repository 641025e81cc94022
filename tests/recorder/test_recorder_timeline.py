"""From a recording to lanes, a picture, a page and a terminal."""

import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser
from recorder_stage import Operator, Outsider
from rich.console import Console

from converge.recorder import RecordedEvent, RecordedRequest, Recorder, Recording, events, writes
from converge.recorder.routes import read_route
from converge.recorder.timeline.axis import Axis, Place
from converge.recorder.timeline.model import Timeline
from converge.recorder.timeline.page import page
from converge.recorder.timeline.reconciles import asked_to_look_again, reconciles
from converge.recorder.timeline.svg import draw
from converge.recorder.timeline.terminal import TerminalTimeline


@pytest.fixture
def recording(recorder: Recorder, operator: Operator, outsider: Outsider) -> Recording:
    """A real run: a read of nothing, a refused create and its second try, two patches, a dropped event, a secret."""
    watch = operator.watch()
    recorder.note("operator <started>")
    recorder.fail(writes("ConfigMap"), status=503)
    recorder.slow(writes("ConfigMap"), seconds=0.1, nth=2, times=1)
    recorder.drop(events("ConfigMap", type="MODIFIED"))
    operator.get("cm-web")
    operator.create("cm-web", k="<1>")
    operator.create("cm-web", k="<1>")
    operator.patch("cm-web", k="2")
    operator.patch("cm-web", k="2")
    secret = {"metadata": {"name": "password"}, "stringData": {"password": "do-not-show"}}
    operator.ask("POST", f"/api/v1/namespaces/{operator.identity.namespace}/secrets", secret)
    operator.ask("DELETE", f"/api/v1/namespaces/{operator.identity.namespace}/secrets/password")
    outsider.create("cm-later")
    assert watch.names(2) == ["cm-web", "cm-later"]
    watch.connection.close()
    assert recorder.wait_for(lambda: recorder.watches()[0].duration, deadline=5)
    recorder.recording.title = "A run & its faults"
    recorder.stop()
    return recorder.recording


def test_there_is_one_lane_per_object_and_each_mark_tells_what_happened(recording: Recording) -> None:
    timeline = Timeline.of(recording)
    assert [lane.name for lane in timeline.lanes] == [
        "operator", "configmaps/cm-web", "secrets/password", "configmaps/cm-later", "configmaps",
    ]  # fmt: skip
    web = timeline.lanes[1]
    looks = [(mark.look, mark.letter, mark.label) for mark in web.marks if mark.look != "event"]
    assert looks[:3] == [("missing", "", ""), ("refused", "C", "503"), ("write", "C", "")]
    assert sorted(looks[3:]) == [("idle", "P", ""), ("lost", "", ""), ("write", "P", "")]
    assert [span.look for span in timeline.lanes[-1].spans] == ["watch"]
    assert timeline.faults == [
        "503 on write 1 of configmaps",
        "0.1 s longer for write 2 of configmaps",
        "dropped MODIFIED event 1 of configmaps",
    ]
    assert timeline.summary == "6 writes (1 changed nothing, 1 refused), 1 read, 1 watch, 2 events, 3 faults"


def test_the_wait_after_a_failure_is_a_pause() -> None:
    def attempt(number: int, time: float, status: int) -> RecordedRequest:
        route = read_route("PUT", "/apis/apps/v1/namespaces/a/deployments/web")
        return RecordedRequest(
            number, time, "PUT", "", route, name="web", status=status, duration=0.01, changed=status < 400
        )

    tries = [(0.0, 500), (0.51, 500), (1.52, 500), (3.53, 200), (9.0, 200)]
    recording = Recording(requests=[attempt(number, *try_) for number, try_ in enumerate(tries, 1)])
    [lane] = Timeline.of(recording).lanes
    assert [span.text for span in lane.spans] == [
        "0.5 s until the next try", "1 s until the next try", "2 s until the next try",
    ]  # fmt: skip


def test_lanes_beyond_the_most_are_counted_not_drawn() -> None:
    many = [RecordedEvent(n / 10, 1, "ADDED", "pods", "a", f"pod-{n}", str(n)) for n in range(60)]
    timeline = Timeline.of(Recording(events=many), most_lanes=40)
    assert (len(timeline.lanes), timeline.hidden) == (40, 20)
    assert "20 more objects" in page(Recording(events=many))


def test_the_picture_is_well_formed_and_needs_nothing_else(recording: Recording) -> None:
    picture = draw(Timeline.of(recording))
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img"
    assert "A run & its faults" in (root.get("aria-label") or "")
    titles = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")]
    for request in recording.requests:
        if not request.is_watch:
            assert any(title.endswith(str(request)) for title in titles), request
    whole = page(recording)
    assert not re.findall(r"(?:src|href)=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", whole)
    assert "do-not-show" not in whole
    assert "&lt;started&gt;" in whole
    assert whole.count('class="idle"') >= 2, "in the picture, in the legend and in the table"


def test_the_page_says_in_words_what_the_picture_shows(recording: Recording) -> None:
    rows = re.findall(r"<tr[^>]*><td>[\d.]+</td><td>(.*?)</td></tr>", page(recording), flags=re.S)
    words = [re.sub(r"<small>.*|<[^>]+>|<pre>.*", "", row, flags=re.S).strip() for row in rows]
    assert "operator &lt;started&gt;" in words
    assert "CREATE configmaps/cm-web → 503 ServiceUnavailable (fault: 503 on write 1 of configmaps)" in words
    assert "PATCH configmaps/cm-web (changed nothing)" in words
    assert "fault: dropped MODIFIED event 1 of configmaps (configmaps/cm-web)" in words
    assert "event ADDED configmaps/cm-later" in words


def in_terminal(recording: Recording, everything: bool = False) -> str:
    console = Console(width=100, force_terminal=False)
    with console.capture() as capture:
        console.print(TerminalTimeline(recording, everything))
    return capture.get()


def test_the_terminal_needs_no_colours(recording: Recording) -> None:
    text = in_terminal(recording)
    assert "\x1b" not in text
    [lane] = [line for line in text.splitlines() if line.startswith("configmaps/cm-web ")]
    assert re.sub(r"[ ▾?]", "", lane.removeprefix("configmaps/cm-web")) == "∘✗CPp"
    assert all(len(line) <= 100 for line in text.splitlines()[:10])
    assert "PATCH configmaps/cm-web (changed nothing)" in text
    assert "GET configmaps/cm-web" not in text
    assert "GET configmaps/cm-web → 404 NotFound" in in_terminal(recording, everything=True)


def test_an_empty_recording_is_drawn_too() -> None:
    assert "0 writes" in in_terminal(Recording())
    ElementTree.fromstring(draw(Timeline.of(Recording())))
    assert "<table>" in page(Recording())


def test_a_long_run_is_drawn_in_the_width_there_is() -> None:
    route = read_route("GET", "/api/v1/namespaces/a/pods/p")
    many = [RecordedRequest(n, n / 7, "GET", "", route, name="p", status=200, duration=0.001) for n in range(3000)]
    assert all(len(line) <= 100 for line in in_terminal(Recording(requests=many)).splitlines()[:6])


times = st.floats(0, 1000, allow_nan=False)


def test_two_marks_at_once_do_not_cover_each_other() -> None:
    twice = [RecordedEvent(1.0, 1, "ADDED", "pods", "a", "p", "1") for _ in range(2)]
    [lane] = Timeline.of(Recording(events=twice)).lanes
    assert lane.marks[0].time < lane.marks[1].time


@given(st.lists(st.builds(Place, st.integers(0, 3), times, st.sampled_from([4.5, 8.5])), max_size=60))
def test_time_never_runs_backwards_and_no_mark_covers_another(places: list[Place]) -> None:
    axis = Axis(places, even_width=700, longest_pause=250)
    ordered = sorted(places, key=lambda place: place.time)
    assert all(axis.x(a.time) <= axis.x(b.time) for a, b in pairwise(ordered))
    for lane in range(4):
        own = [place for place in ordered if place.lane == lane]
        for before, after in pairwise(own):
            if before.time < after.time:
                assert axis.x(after.time) - axis.x(before.time) >= before.half + after.half - 1e-6
    ticks = [x for x, _ in axis.ticks(room=64)]
    assert all(b - a >= 64 for a, b in pairwise(ticks))


def test_reconciles_are_read_from_the_log_of_the_runtime(capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        "import logging, sys; from converge.runtime import logs, Request\n"
        "logs.configure(sys.argv[1], logging.DEBUG); logs.current_request.set(('webapp', Request('default', 'web')))\n"
        "logging.getLogger('converge.controller').debug('reconciled in %.1f ms', 250)\n"
        "logging.getLogger('other').debug('something else')"
    )
    for format in ("text", "json"):
        before = time.time()
        done = subprocess.run([sys.executable, "-c", program, format], capture_output=True, text=True, check=True)
        [note] = reconciles(done.stderr, before)
        assert (note.object, note.duration) == ("webapps/web", 0.25)
        assert -0.3 < note.time < time.time() - before
        [lane] = Timeline.of(Recording(notes=[note])).lanes
        assert [(span.look, lane.name) for span in lane.spans] == [("reconcile", "webapps/web")]


@pytest.mark.parametrize(
    "line",
    [
        '{"message": 5}',
        '{"message": {"a": 1}, "key": []}',
        '{"a":' * 9_999,
        '{"message": "reconciled in 5 ms"}',
        '{"message": "reconciled in 5 ms", "key": 5, "controller": [], "time": 5}',
        '{"message": "reconciled in 5 ms, again in soon s", "key": "a/web", "controller": "x", "time": "now"}',
        '{"message": "reconciled in 5 ms", "key": "a/web", "controller": "x", "time": "1900-01-01T00:00:00+00:00"}',
        '{"message": "reconciled in 5 ms", "key": "a/web", "controller": "x", "time": "0001-01-01T00:00:00"}',
        '{"message": "reconciled in 999999999 ms", "key": "a/web", "controller": "x", "time": "12:00:00.000"}',
        "12:00:00.000 DEBUG x a/web: reconciled in 5.5.5 ms",
        "99:99:99.999 DEBUG x a/web: reconciled in 5 ms",
    ],
)
def test_a_line_that_only_looks_like_a_reconcile_is_passed_over(line: str) -> None:
    """The log is that of anyone who is graded: it may name a moment long ago, or be no text at all."""
    before = time.time()
    assert [note for note in reconciles(line, before) if note.time < -86400] == []
    assert asked_to_look_again(line, "web") is None


def test_the_log_of_the_runtime_says_when_a_pass_asked_for_another_one() -> None:
    program = (
        "import logging, sys; from converge.runtime import logs, Controller, Request, Result\n"
        "logs.configure(sys.argv[1], logging.DEBUG)\n"
        "class Waiting:\n"
        "    def reconcile(self, request):\n"
        "        return Result(requeue_after=30) if request.name != 'done' else None\n"
        "controller = Controller(Waiting(), name='webapp')\n"
        "for name in ('web', 'done', 'web-2'): controller._process(Request('default', name))"
    )
    for format in ("text", "json"):
        done = subprocess.run([sys.executable, "-c", program, format], capture_output=True, text=True, check=True)
        found = {name: asked_to_look_again(done.stderr, name) for name in ("web", "done", "another")}
        assert found == {"web": 30.0, "done": None, "another": None}


def test_the_page_works_in_a_browser(recording: Recording, tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "page.html").write_text(page(recording))
    for scheme in ("light", "dark"):
        tab = browser.new_page(color_scheme=scheme, viewport={"width": 1200, "height": 800})
        problems: list[str] = []
        tab.on("console", lambda message, seen=problems: seen.append(message.text))
        tab.on("pageerror", lambda error, seen=problems: seen.append(str(error)))
        asked: list[str] = []
        tab.on("request", lambda request, seen=asked: seen.append(request.url))
        tab.goto((tmp_path / "page.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
        number = recording.writes()[2].number
        tab.click(f"[data-request='{number}'] .letter")
        assert tab.locator(f"#r{number}.here").is_visible()
        assert problems == []
        assert asked == [(tmp_path / "page.html").as_uri()]
        tab.close()


def test_show_finds_the_last_run(recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer import Typer
    from typer.testing import CliRunner

    from converge.cli.show import show
    from converge.recorder import archive as recordings

    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path))
    app = Typer()
    app.command()(show)

    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        return result.exit_code, result.output

    assert run() == (1, "converge: nothing has been recorded yet; `converge check` of an operator lab records\n")
    recordings.keep(Recording(title="test_first"))
    os.utime(recordings.find().file, (1, 1))
    recordings.keep(recording)
    assert "A run & its faults" in run()[1]
    assert "test_first" in run("first")[1]
    assert run("--list") == (0, "A-run-its-faults\ntest_first\n")
    assert "no recording called 'none'" in run("none")[1]
    assert json.loads(run("--json")[1])["format"] == "converge/recording/v1"
    assert run("--html", str(tmp_path / "t.html"), "--svg", str(tmp_path / "t.svg"))[0] == 0
    assert "<!doctype html>" in (tmp_path / "t.html").read_text()
    assert recordings.folder().stat().st_mode & 0o077 == 0, "a recording holds what Secrets were written"
