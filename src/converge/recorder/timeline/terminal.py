"""The timeline in a terminal: one line per lane, one character per mark; readable without colours too."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from converge.recorder.recording import Recording
from converge.recorder.timeline.axis import Axis, Place
from converge.recorder.timeline.model import Lane, Mark, Timeline

MOST_LINES = 40
_LABELS = 28

# Character and style of each look; of two marks in one place the one further down wins.
_LOOKS = {
    "read": ("·", "dim"),
    "missing": ("∘", "dim"),
    "event": ("▾", "blue"),
    "note": ("◆", "bold"),
    "idle": ("", "yellow"),
    "write": ("", "bold green"),
    "lost": ("?", "bold red"),
    "refused": ("✗", "bold red"),
}
_RANK = list(_LOOKS)
_SPANS = {"watch": ("─", "blue dim"), "reconcile": ("▁", "blue"), "pause": ("┄", "yellow")}
LEGEND = (
    "C U P A D write   c u p a d changed nothing   ✗ refused   ? lost   · read   ∘ not found   "
    "▾ event   ─ watch   ▁ reconcile   ◆ note"
)


class TerminalTimeline:
    """A rich renderable."""

    def __init__(self, recording: Recording, everything: bool = False) -> None:
        self.recording = recording
        self.everything = everything
        self.timeline = Timeline.of(recording, most_lanes=30)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        timeline = self.timeline
        labels = min(_LABELS, max((len(lane.name) for lane in timeline.lanes), default=0))
        strip = _Strip(timeline, max(20, options.max_width - labels - 2))
        yield Text(timeline.title or "Timeline", style="bold")
        yield Text(timeline.summary + "\n", style="dim")
        yield Text(" " * (labels + 2) + strip.ticks(), style="dim")
        for lane in timeline.lanes:
            label = lane.name if len(lane.name) <= labels else lane.name[: labels - 1] + "…"
            yield Text(f"{label:<{labels}}  ").append_text(strip.draw(lane))
        if timeline.hidden:
            yield Text(f"… and {timeline.hidden} more objects", style="dim")
        yield Text("\n" + LEGEND, style="dim")
        if timeline.faults:
            yield Text("\nFaults", style="bold")
            yield from (Text(f"  {name}", style="red") for name in timeline.faults)
        yield Text("\n" + ("In order" if self.everything else "Writes, refusals and notes"), style="bold")
        yield from self._lines()

    def _lines(self) -> Iterator[Text]:
        marks = [mark for lane in self.timeline.lanes for mark in lane.marks]
        if not self.everything:
            marks = [mark for mark in marks if mark.look not in ("read", "missing", "event")]
        marks.sort(key=lambda mark: mark.time)
        left = 0 if self.everything else max(0, len(marks) - MOST_LINES)
        if left:
            yield Text(f"          … {left} before; --all shows them", style="dim")
        for mark in marks[left:]:
            style = "" if mark.look == "note" else _LOOKS[mark.look][1]
            yield Text(f"{mark.time:8.3f}  ", style="dim").append(mark.text, style=style)


class _Strip:
    def __init__(self, timeline: Timeline, width: int) -> None:
        self.width = width
        lanes = enumerate(timeline.lanes)
        places = [Place(number, mark.time, 0.5) for number, lane in lanes for mark in lane.marks]
        self.axis = Axis(places, even_width=width * 0.7, longest_pause=width * 0.3)

    def column(self, time: float) -> int:
        scale = min(1.0, (self.width - 1) / self.axis.width) if self.axis.width else 1.0
        return int(self.axis.x(time) * scale)

    def ticks(self) -> str:
        line = [" "] * self.width
        scale = min(1.0, (self.width - 1) / self.axis.width) if self.axis.width else 1.0
        for x, label in self.axis.ticks(room=10 / scale):
            start = int(x * scale)
            if start + len(label) <= self.width:
                line[start : start + len(label)] = label
        return "".join(line)

    def draw(self, lane: Lane) -> Text:
        cells = [(" ", "")] * self.width
        for span in lane.spans:
            for column in range(self.column(span.start), self.column(span.end) + 1):
                cells[column] = _SPANS[span.look]
        taken: dict[int, Mark] = {}
        for mark in lane.marks:
            column = self.column(mark.time)
            if column not in taken or _RANK.index(mark.look) >= _RANK.index(taken[column].look):
                taken[column] = mark
                cells[column] = _cell(mark)
        text = Text()
        for character, style in cells:
            text.append(character, style=style)
        return text


def _cell(mark: Mark) -> tuple[str, str]:
    character, style = _LOOKS[mark.look]
    if mark.look in ("write", "idle"):
        character = mark.letter.lower() if mark.look == "idle" else mark.letter
    return character or "•", f"{style} reverse" if mark.fault is not None else style
