"""Work side by side: in order, never too much at once, and all of it ends when nobody wants it any more."""

from __future__ import annotations

import threading

import pytest

from converge.audit.parallel import OperatorSlots, ParallelWork, Stopped
from converge.testing.waits.waiting import eventually, interruptions


def test_so_many_at_once_and_no_more():
    both, running, most = threading.Barrier(2, timeout=10), [], []

    def run(piece):
        running.append(piece)
        most.append(len(running))
        both.wait()  # nobody ends before another one runs
        running.remove(piece)
        return piece

    assert sorted(ParallelWork(range(6), run, 2).results()) == [0, 1, 2, 3, 4, 5]
    assert max(most) == 2


def test_a_piece_waits_until_it_is_ready():
    done: list[str] = []

    def run(piece):
        return piece

    work = ParallelWork(["needs b", "b", "c"], run, 2, ready=lambda piece: piece != "needs b" or "b" in done)
    done.extend(work.results())
    assert done.index("b") < done.index("needs b")


def test_an_error_ends_the_others_in_their_waits():
    ended = []

    def run(piece):
        if piece == "breaks":
            assert eventually(lambda: len(started) == 2)
            raise KeyError(piece)
        started.append(piece)
        try:
            eventually(lambda: False, within=60)
        except Stopped:
            ended.append(piece)
            raise

    started: list[str] = []
    with pytest.raises(KeyError):
        list(ParallelWork(["waits", "waits too", "breaks", "never begins"], run, 3).results())
    assert sorted(ended) == sorted(started) == ["waits", "waits too"]


def test_each_thread_is_asked_its_own_questions():
    """An operator that has died is the business of those who wait for it."""

    def run(piece):
        if piece == "mine":
            interruptions.append(lambda: asked.append(threading.get_ident()))
            eventually(lambda: len(asked) > 2, within=10)
            return {threading.get_ident()}
        eventually(lambda: len(asked) > 2, within=10)
        return set()

    asked: list[int] = []
    mine = set().union(*ParallelWork(["mine", "another"], run, 2).results())
    assert set(asked) == mine
    assert not list(interruptions)


def test_who_waits_for_room_can_be_interrupted():
    slots = OperatorSlots(1)
    slots.acquire()

    def stop():
        raise Stopped

    interruptions.append(stop)
    try:
        with pytest.raises(Stopped):
            slots.acquire()
    finally:
        interruptions.remove(stop)
    slots.release()
    slots.acquire()
