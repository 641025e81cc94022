"""Where on the page a moment is.

Time runs evenly where little happens, so a pause that doubles looks twice as long. Where much happens at once it is
stretched, so that no two marks of one lane cover each other; a very long pause is cut short.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)


@dataclass(frozen=True)
class Place:
    """Something that needs room: its lane, its time, half its width."""

    lane: int
    time: float
    half: float


class Axis:
    """From seconds to pixels, by known points with straight lines between. One moment is one place."""

    def __init__(self, places: Iterable[Place], even_width: float, longest_pause: float) -> None:
        moments: dict[float, list[Place]] = {}
        for place in places:
            moments.setdefault(place.time, []).append(place)
        self._times = sorted(moments) or [0.0]
        self._points: list[float] = []
        span = (self._times[-1] - self._times[0]) or 1.0
        edges: dict[int, float] = {}
        x, before = 0.0, self._times[0]
        for time in self._times:
            here = moments.get(time, [])
            x += min((time - before) / span * even_width, longest_pause)
            x = max([x, *(edges.get(place.lane, -place.half) + place.half for place in here)])
            for place in here:
                edges[place.lane] = max(edges.get(place.lane, 0.0), x + place.half)
            self._points.append(x)
            before = time

    @property
    def width(self) -> float:
        return self._points[-1]

    def x(self, time: float) -> float:
        """The place of a moment; before the first and after the last it is the edge."""
        after = bisect_right(self._times, time)
        if after == 0:
            return 0.0
        if after == len(self._times):
            return self.width
        left, right = self._times[after - 1], self._times[after]
        share = (time - left) / (right - left)
        return self._points[after - 1] + share * (self._points[after] - self._points[after - 1])

    def ticks(self, room: float) -> Iterator[tuple[float, str]]:
        """Round moments with their labels, at least ``room`` apart."""
        first, last = self._times[0], self._times[-1]
        step = next((step for step in _STEPS if (last - first) / step <= 24), _STEPS[-1])
        number, edge = int(first / step), -room
        while number * step <= last:
            time = number * step
            number += 1
            if time >= first and self.x(time) - edge >= room:
                edge = self.x(time)
                yield edge, f"{time:g} s" if step >= 1 else f"{time:.2f} s".replace("0 s", " s").replace(". s", " s")
