"""What an operator that no one trusts may write, and how it's told that this was all."""

from recorder_stage import MERGE, Identity, Operator, Outsider

from converge.recorder import Recorder

METADATA_ONLY = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", **MERGE}


def test_so_many_writes_and_no_more(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    recorder.allow(writes=2, size=1 << 20)
    outsider.create("cm-0")
    assert [operator.patch("cm-0", k=str(number))[0] for number in range(2)] == [200, 200]
    status, answer = operator.patch("cm-0", k="3")
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert "exceeded quota: an operator that is graded may write 2 times and 1 MB" in answer["message"]
    assert outsider.get("cm-0")["data"] == {"k": "1"}
    assert operator.get("cm-0")[0] == 200
    refused = recorder.requests[2]
    assert refused.changed is False
    assert "exceeded quota" in str(refused)


def test_a_small_change_of_an_object_counts_as_all_of_it(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    recorder.allow(writes=1000, size=100_000)
    outsider.create("cm-0", large="x" * 40_000)
    assert [operator.patch("cm-0", k=str(number))[0] for number in range(4)] == [200, 200, 200, 403]


def test_a_large_object_is_refused(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    recorder.allow(writes=1000, size=1 << 20)
    outsider.create("cm-0")
    status, answer = operator.patch("cm-0", k="x" * 33_000)
    assert status == 403
    assert "may write objects of 32 KB" in answer["message"]
    assert operator.patch("cm-0", k="x" * 30_000)[0] == 200


def test_an_object_that_grows_bit_by_bit_ends_the_writing(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    recorder.allow(writes=1000, size=1 << 20)
    outsider.create("cm-0")
    found = [operator.patch("cm-0", **{f"k{number}": "x" * 30_000})[0] for number in range(5)]
    assert found == [200, 200, 200, 403, 403]


def test_an_answer_that_hides_the_size_counts_as_the_largest(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    recorder.allow(writes=1000, size=1 << 20)
    outsider.create("cm-0")
    path, body = f"{operator.configmaps}/cm-0", {"data": {"k": "v"}}
    assert [operator.ask("PATCH", path, body, METADATA_ONLY)[0] for _ in range(2)] == [200, 403]


def test_its_limits_and_the_ways_out_are_refused_whatever_its_rights(
    recorder: Recorder, operator: Operator, identity: Identity
) -> None:
    recorder.allow(writes=1000, size=1 << 20, resources=frozenset({"pods"}))
    here = f"/api/v1/namespaces/{identity.namespace}"
    asked = ("DELETE", "resourcequotas/pods"), ("GET", "services/a/proxy/b"), ("POST", "pods/a/exec")
    for method, path in asked:
        status, answer = operator.ask(method, f"{here}/{path}")
        assert status == 403
        assert "exceeded quota: an operator that is graded may not " in answer["message"]


def test_without_an_allowance_nothing_is_counted(recorder: Recorder, operator: Operator, identity: Identity) -> None:
    names = [f"cm-many-{number}" for number in range(20)]
    assert {operator.create(name)[0] for name in names} == {201}
    for name in names:
        operator.ask("DELETE", f"{operator.configmaps}/{name}")
