"""Tracebacks are found in what an operator printed, told apart, and begin in its author's own code."""

import json
import os
import subprocess
import sys

import pytest

from converge.testing.sandbox.output import MAX_HEAD_OR_TAIL_BYTES, Output
from converge.testing.verdicts.tracebacks import crashes, readable

OWN = """
import json

def act(text):
    return json.loads(text)

def twice(text):
    try:
        act(text)
    except ValueError as error:
        raise RuntimeError("told again") from error

def run(function, *arguments):
    import traceback
    try:
        function(*arguments)
    except Exception:
        print("12:00:01.250 ERROR failed")
        traceback.print_exc()
"""


@pytest.fixture
def printed(tmp_path):
    """What a program prints whose author's file is in a folder of its own."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.py").write_text(OWN)
    program = tmp_path / "program.py"

    def output(*calls):
        lines = ["import sys", "sys.path.insert(0, 'own')", "import own", *(f"own.run({call})" for call in calls)]
        program.write_text("\n".join(lines))
        done = subprocess.run(
            [sys.executable, program],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        return done.stdout

    return output, str(tmp_path / "own")


def test_it_begins_in_the_authors_code_and_ends_there(printed):
    output, folder = printed
    (crash,) = crashes(output("own.act, '{'"))
    first, *middle, last = crash.show(folder).splitlines()
    assert first.endswith("in run")
    assert any("further down in decoder.py" in line for line in middle)
    assert not any("raw_decode" in line for line in middle)
    assert last.startswith("json.decoder.JSONDecodeError")


def test_the_same_mistake_has_the_same_fingerprint(printed):
    output, folder = printed
    one, again, other = crashes(output("own.act, '{'", "own.act, '['", "own.act, 1"))
    assert one.fingerprint(folder) == again.fingerprint(folder) != other.fingerprint(folder)


def test_what_led_to_an_exception_belongs_to_it(printed):
    output, folder = printed
    (crash,) = crashes(output("own.twice, '{'"))
    assert crash.exception == "RuntimeError: told again"
    assert "JSONDecodeError" in crash.show(folder)


def test_a_traceback_in_a_log_of_json_has_its_lines(printed):
    output, _ = printed
    line = json.dumps({"level": "error", "message": "failed", "error": output("own.act, '{'").partition("\n")[2]})
    assert len(crashes(line)) == 1
    assert "\\n" not in readable(line)


def test_a_traceback_begins_after_what_did_not_end_its_line(printed):
    output, folder = printed
    (crash,) = crashes("waiting ..." + output("own.act, '{'").partition("\n")[2])
    assert crash.exception.startswith("json.decoder.JSONDecodeError")
    assert "waiting" not in crash.show(folder)


def test_json_that_is_nested_too_deeply_is_a_line_like_others():
    line = '{"message":' * 5_000
    assert readable(line) == line


def test_what_is_cut_out_of_a_long_output_is_whole_lines(tmp_path):
    lines = b"".join(b"line %d of many\n" % number for number in range(3 * MAX_HEAD_OR_TAIL_BYTES // 16))
    (tmp_path / "printed").write_bytes(lines)
    output = Output(os.open(tmp_path / "printed", os.O_RDONLY))
    output.wait(10)
    kept = output.text().splitlines()
    assert all(line.startswith("line ") and line.endswith(" of many") for line in kept if "not kept" not in line)
    assert sum("bytes not kept" in line for line in kept) == 1
