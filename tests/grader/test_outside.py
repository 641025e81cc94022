"""The service outside the cluster keeps records, and is slow, failing or down when told to be."""

import json
import socket
import time
import urllib.error
import urllib.request

import pytest

from converge.operators.outside_service import LARGEST_BODY, MOST_RECORDS, Outside
from converge.operators.records import Records


@pytest.fixture
def service():
    made = Outside()
    yield made
    made.down()


def ask(service, method, path, body=None):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(service.url + path, data=data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_records_come_and_go(service):
    assert ask(service, "PUT", "/records/shop.example", {"target": "a"})[0] == 201
    assert ask(service, "PUT", "/records/shop.example", {"target": "b"})[0] == 200
    assert json.loads(ask(service, "GET", "/records/shop.example")[1]) == {"target": "b"}
    assert ask(service, "DELETE", "/records/shop.example")[0] == 204
    assert ask(service, "DELETE", "/records/shop.example")[0] == 404
    assert service.records == {}


@pytest.mark.parametrize("length", [-1, LARGEST_BODY + 1])
def test_a_body_of_any_length_does_not_fill_its_memory(service, length):
    with socket.create_connection(("127.0.0.1", int(service.url.rpartition(":")[2])), timeout=10) as connection:
        connection.sendall(b"PUT /records/a HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length)
        assert b" 413 " in connection.recv(1000)
    assert service.records == {}


def test_it_has_room_for_so_many_records(service):
    service.records = {str(number): {} for number in range(MOST_RECORDS)}
    assert ask(service, "PUT", "/records/one.more", {})[0] == 507
    assert ask(service, "PUT", "/records/0", {"target": "a"})[0] == 200


def test_it_fails_as_often_as_it_is_told(service):
    service.fail(503, times=2)
    assert [ask(service, "GET", "/records")[0] for _ in range(3)] == [503, 503, 200]
    assert [each.status for each in service.requests] == [503, 503, 200]


def test_it_fails_until_it_is_healed(service):
    service.fail(500)
    assert {ask(service, "GET", "/records")[0] for _ in range(3)} == {500}
    service.heal()
    assert ask(service, "GET", "/records")[0] == 200


def test_it_fails_for_one_host_alone(service):
    service.fail(422, host="bad.example")
    service.fail(503, times=1, host="ill.example")
    hosts = ("good", "bad", "ill", "ill", "bad")
    assert [ask(service, "PUT", f"/records/{host}.example", {})[0] for host in hosts] == [201, 422, 503, 201, 422]
    service.heal()
    assert ask(service, "PUT", "/records/bad.example", {})[0] == 201


def test_it_fails_for_one_method_alone(service):
    service.fail(403, host="shop.example", method="PUT")
    asked = [("PUT", "shop"), ("GET", "shop"), ("PUT", "other")]
    assert [ask(service, method, f"/records/{host}.example", {})[0] for method, host in asked] == [403, 404, 201]


def test_it_can_give_no_answer_at_all(service):
    service.fail(0, method="DELETE")
    with pytest.raises(ConnectionResetError):
        Records(service.url).delete("shop.example")
    assert [str(each) for each in service.requests] == ["DELETE /records/shop.example → no answer"]
    assert Records(service.url).all() == {}


def test_it_is_slow_for_one_host_alone(service):
    service.slow(60, host="slow.example")
    began = time.monotonic()
    assert ask(service, "PUT", "/records/quick.example", {})[0] == 201
    with pytest.raises(TimeoutError):
        urllib.request.urlopen(f"{service.url}/records/slow.example", timeout=0.1)
    assert time.monotonic() - began < 30
    service.heal()
    assert ask(service, "GET", "/records/slow.example")[0] == 404


def test_some_names_are_never_registered(service):
    assert ask(service, "PUT", "/records/shop.invalid", {})[0] == 422
    assert ask(service, "GET", "/records/shop.invalid")[0] == 404


def test_it_keeps_a_caller_waiting_who_would_not_wait_in_silence(service):
    impatient = Records(service.url, timeout=0.8)
    service.slow(1.5, alive=True)
    impatient.put("shop.example", {})
    service.slow(1.5)
    with pytest.raises(OSError, match="timed out"):
        impatient.all()


def test_it_goes_down_and_comes_back_at_the_same_place(service):
    url = service.url
    ask(service, "PUT", "/records/a.example", {})
    service.down()
    with pytest.raises(urllib.error.URLError):
        ask(service, "GET", "/records")
    service.up()
    assert service.url == url
    assert ask(service, "GET", "/records/a.example")[0] == 200


def test_without_an_address_it_says_which_variable_is_missing(monkeypatch):
    monkeypatch.delenv("OUTSIDE_URL", raising=False)
    with pytest.raises(RuntimeError, match="OUTSIDE_URL is not set"):
        Records().all()
