"""The timeline as one SVG: no script, no font, no network. Its colours are those of the page around it, if any."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from converge.recorder.timeline.axis import Axis, Place
from converge.recorder.timeline.model import MARK_MEANINGS, Lane, Mark, Span, Timeline

LABELS = 190
LANE = 42
HEAD = 30
MARGIN = 16
_HALF_WIDTHS = {
    "write": 8.5,
    "idle": 8.5,
    "refused": 12.0,
    "lost": 8.5,
    "read": 4.5,
    "missing": 4.5,
    "event": 5.0,
    "note": 6.0,
}

_STYLE = Path(__file__).with_name("timeline.css").read_text()
_DARK = Path(__file__).with_name("timeline-dark.css").read_text()


def draw(timeline: Timeline, *, own_colours: bool = True, width: int = 960) -> str:
    """The picture. With ``own_colours`` it follows light and dark by itself; else the page's ``--c-…`` decide.

    It is about ``width`` wide, and wider where much happens at once.
    """
    return _Drawing(timeline, width).svg(own_colours)


class _Drawing:
    def __init__(self, timeline: Timeline, width: int) -> None:
        self.timeline = timeline
        places = [
            Place(number, mark.time, _HALF_WIDTHS[mark.look] if mark.fault is None else 10.0)
            for number, lane in enumerate(timeline.lanes)
            for mark in lane.marks
        ]
        self.left = LABELS + MARGIN
        room = width - self.left - 3 * MARGIN
        self.axis = Axis(places, even_width=room, longest_pause=0.4 * room)
        self.width = max(width, self.left + self.axis.width + 3 * MARGIN)
        self.height = HEAD + LANE * len(timeline.lanes) + MARGIN

    def svg(self, own_colours: bool) -> str:
        title = self.timeline.title or "Timeline"
        size = f'viewBox="0 0 {self.width:.0f} {self.height}" width="{self.width:.0f}" height="{self.height}"'
        style = _STYLE + (_DARK if own_colours else "")
        lanes = ", ".join(lane.name for lane in self.timeline.lanes)
        about = f"{self.timeline.summary}. One lane each for: {lanes}."
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="timeline{" own" if own_colours else ""}" {size} '
                f'role="img" aria-label="{escape(f"{title}: {about}")}">',
                f"<title>{escape(title)}</title><desc>{escape(about)}</desc><style>{style}</style>",
                *self._ground(),
                *self._fault_bands(),
                *(part for number, lane in enumerate(self.timeline.lanes) for part in self._lane(number, lane)),
                "</svg>",
            ]
        )

    def x(self, time: float) -> float:
        return self.left + MARGIN + self.axis.x(time)

    def _ground(self) -> Iterator[str]:
        bottom = self.height - MARGIN
        for number, lane in enumerate(self.timeline.lanes):
            top = HEAD + number * LANE
            if number % 2 == 0:
                yield f'<rect class="band" y="{top}" width="{self.width:.0f}" height="{LANE}"/>'
            label = lane.name if len(lane.name) <= 28 else lane.name[:27] + "…"
            middle = top + LANE / 2
            words = f"{escape(label)}<title>{escape(lane.name)}</title>"
            yield f'<text x="{MARGIN}" y="{middle + 4.5}">{words}</text>'
            yield f'<line class="rule" x1="{self.left}" y1="{middle}" x2="{self.width - MARGIN:.0f}" y2="{middle}"/>'
        for x, label in self.axis.ticks(room=64):
            place = self.left + MARGIN + x
            yield f'<line class="rule tick" x1="{place:.1f}" y1="{HEAD}" x2="{place:.1f}" y2="{bottom}"/>'
            yield f'<text class="quiet" x="{place:.1f}" y="{HEAD - 8}" text-anchor="middle">{label}</text>'

    def _fault_bands(self) -> Iterator[str]:
        for number, lane in enumerate(self.timeline.lanes):
            for mark in lane.marks:
                if mark.fault is not None:
                    x, top = self.x(mark.time), HEAD + number * LANE
                    yield f'<rect class="faulted" x="{x - 9:.1f}" y="{top}" width="18" height="{LANE}" rx="4"/>'

    def _lane(self, number: int, lane: Lane) -> Iterator[str]:
        top = HEAD + number * LANE
        for span in lane.spans:
            yield from self._span(span, top)
        yield from self._notes([mark for mark in lane.marks if mark.look == "note"], top + LANE / 2)
        for mark in lane.marks:
            if mark.look != "note":
                yield self._mark(mark, top)

    def _span(self, span: Span, top: int) -> Iterator[str]:
        left, right = self.x(span.start), self.x(span.end)
        middle = top + LANE / 2
        title = f"<title>{escape(span.text)}</title>"
        if span.look == "pause":
            yield f'<path class="pause" d="M{left + 8:.1f} {middle}H{right - 8:.1f}">{title}</path>'
            words = span.text.split(" until")[0]
            if right - left > 16 + 7 * len(words):
                yield f'<text class="pausetext" x="{(left + right) / 2:.1f}" y="{middle - 5}">{words}</text>'
            return
        half = 3 if span.look == "watch" else 12
        width = max(2.0, right - left)
        yield (
            f'<rect class="{span.look}" x="{left:.1f}" y="{middle - half}" width="{width:.1f}" '
            f'height="{2 * half}" rx="3">{title}</rect>'
        )

    def _notes(self, notes: list[Mark], middle: float) -> Iterator[str]:
        """Diamonds with a line down through all lanes; words above and below in turns, where there is room."""
        bottom = self.height - MARGIN
        free = {middle - 8: 0.0, middle + 16: 0.0}
        for mark in notes:
            x = self.x(mark.time)
            yield (
                f'<g class="note"><title>{_when(mark)}</title>'
                f'<line x1="{x:.1f}" y1="{middle}" x2="{x:.1f}" y2="{bottom}"/>'
                f'<path d="M{x:.1f} {middle - 6}l6 6-6 6-6-6z"/></g>'
            )
            for height, edge in free.items():
                if x >= edge:
                    free[height] = x + 6.1 * len(mark.text) + 12
                    yield f'<text class="quiet" x="{x - 4:.1f}" y="{height}">{escape(mark.text)}</text>'
                    break

    def _mark(self, mark: Mark, top: int) -> str:
        x, middle = self.x(mark.time), top + LANE / 2
        match mark.look:
            case "read" | "missing":
                shape = f'<circle cx="{x:.1f}" cy="{middle}" r="3.2"/>'
            case "event":
                shape = f'<path d="M{x - 4.5:.1f} {middle - 14}h9l-4.5 7.5z"/>'
            case _:
                shape = f'<rect x="{x - 7:.1f}" y="{middle - 7}" width="14" height="14" rx="3"/>'
                shape += f'<text class="letter" x="{x:.1f}" y="{middle + 3.6}">{mark.letter or "×"}</text>'
        if mark.label:
            shape += f'<text class="status" x="{x:.1f}" y="{top + LANE - 4}">{mark.label}</text>'
        if mark.fault is not None:
            # Over the mark, except for events, which are up there themselves.
            y = middle - 3 if mark.look == "event" else top + 1
            shape += f'<path class="bolt" d="M{x + 1:.1f} {y}l-6 8h4l-2 5 7-8h-4l2-5z"/>'
            shape += f'<text class="boltnumber" x="{x + 4:.1f}" y="{y + 8}">{mark.fault}</text>'
        link = f' data-request="{mark.request.number}"' if mark.request else ""
        return f'<g class="{mark.look}"{link}><title>{_when(mark)}</title>{shape}</g>'


def _when(mark: Mark) -> str:
    return escape(f"{mark.time:.3f} s  {mark.text}")


def legend(picture: str | None = None) -> str:
    """The marks, or those of a picture, and their meaning, as HTML around small pictures in the same style."""
    return "".join(
        f'<li><svg class="timeline" width="22" height="18" viewBox="0 0 22 18" aria-hidden="true">{_sample(look)}</svg>'
        f"{escape(meaning)}</li>"
        for look, meaning in MARK_MEANINGS.items()
        if picture is None or f'class="{look}"' in picture
    )


def _sample(look: str) -> str:
    shapes = {
        "read": '<circle cx="11" cy="9" r="3.2"/>',
        "event": '<path d="M6.5 5h9l-4.5 7z"/>',
        "watch": '<rect x="1" y="6" width="20" height="6" rx="3"/>',
        "reconcile": '<rect x="1" y="1" width="20" height="16" rx="3"/>',
        "note": '<path d="M11 3l6 6-6 6-6-6z"/>',
    }
    shapes["missing"] = shapes["read"]
    letter = {"write": "P", "idle": "P", "refused": "P", "lost": "×"}.get(look, "")
    square = f'<rect x="4" y="2" width="14" height="14" rx="3"/><text class="letter" x="11" y="12.6">{letter}</text>'
    return f'<g class="{look}">{shapes.get(look, square)}</g>'
