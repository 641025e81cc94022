"""The texts of the course are free of the habits that `voice.py` lists, and it would notice them."""

import pytest
import voice


def test_no_text_has_a_habit_that_we_dropped() -> None:
    assert list(voice.violations(voice.texts())) == []


@pytest.mark.parametrize(
    "line",
    [
        "Somebody deletes it.",
        "It waits for ever.",
        "To mend: type this.",
        "It is made anew.",
        "Whoever waits",
        "The queue is told.",
        "That is no error.",
        "It ends, too.",
        "It ends after so many seconds.",
        "A jail for those that nobody trusts",
        "Events tell of it.",
        "Each result as it is there.",
        "It allows to compare.",
        "They belong into one object.",
        "It will stop to work.",
    ],
)
def test_a_habit_is_noticed(line: str) -> None:
    assert len(list(voice.violations(iter([("docs/x.md", 7, line)])))) == 1
    assert not list(voice.violations(iter([("docs/x.md", 7, f"{line} <!-- voice: allow -->")])))


def test_plain_sentences_pass() -> None:
    fine = [
        "There is no file.",
        "It is no longer ours.",
        "too late",
        "amendment",
        "we told them",
        "as soon as it is there",
    ]
    assert list(voice.violations(iter([("docs/x.md", 1, line) for line in fine]))) == []


def test_of_python_only_comments_and_strings_are_read() -> None:
    code = 'mend = 1  # mend it\n"""somebody"""\nx = "anew"  # voice: allow\n'
    assert [line for line, _ in voice.python_lines(code)] == [1, 2]
