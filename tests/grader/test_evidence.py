"""What is shown of an operator's requests: what was refused and matters, what its writes changed; of many, quickly."""

import json
import time

from converge.recorder import Recording
from converge.recorder.entries import RecordedEvent, RecordedRequest
from converge.recorder.routes import read_route
from converge.testing.verdicts.evidence import refused, written

CONFIGMAPS = "/api/v1/namespaces/a/configmaps"


def request(number, method, name, status=200, **more):
    path = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/{name}"
    route = read_route(method, path)
    reason = "NotFound" if status == 404 else ""
    return RecordedRequest(number, number / 1000, method, path, route, status=status, name=name, reason=reason, **more)


def answered(number, method, version, data, before=""):
    body = json.dumps({"kind": "ConfigMap", "metadata": {"name": "web", "resourceVersion": version}, "data": data})
    return request(
        number,
        method,
        "web",
        kind="ConfigMap",
        version_before=before,
        version_after=version,
        answer_body=body.encode(),
        changed=True,
    )


def test_a_read_that_found_nothing_matters_only_if_there_never_was_anything():
    made = Recording(
        requests=[request(1, "GET", "web", 404), request(2, "POST", "web", 201), request(3, "GET", "none", 404)],
        events=[RecordedEvent(0, 1, "DELETED", "configmaps", "a", "seen", "5")],
    )
    made.requests.append(request(4, "GET", "seen", 404))
    assert refused(made) == ["GET configmaps/none → 404 NotFound"]


def test_a_write_shows_what_it_changed_of_the_version_that_it_changed():
    [line] = written(
        [
            answered(1, "GET", "7", {"k": "1"}),
            answered(2, "GET", "8", {"k": "2"}),
            answered(3, "PUT", "9", {"k": "3"}, before="8"),
        ]
    )
    assert line.splitlines()[1:] == ["    data.k: '2' → '3'"]


def test_a_hundred_thousand_requests_are_looked_through_at_once():
    """A graded operator that asks for one thing after the other mustn't hold up everyone's results."""
    made = Recording(requests=[request(number, "GET", f"none-{number}", 404) for number in range(100_000)])
    began = time.process_time()
    assert len(refused(made)) == 6
    assert time.process_time() - began < 10


def test_a_refusal_that_comes_in_turns_with_others_is_shown_once():
    asked = [request(number, "GET", ("none", "nothing", "none")[number % 3], 404) for number in range(30)]
    assert refused(Recording(requests=asked)) == [
        "GET configmaps/nothing → 404 NotFound  ×10",
        "GET configmaps/none → 404 NotFound  ×20",
    ]
