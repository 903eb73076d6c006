"""The dashboard's queue: what goes first, what is kept, what nobody waits for."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from dashboard_server import until
from needed import skip_without

from attnlens.dashboard.answer_queue import (
    AHEAD,
    FIRST,
    LONG,
    MAX_AHEAD,
    ON_DEMAND,
    AnswerQueue,
    BusyError,
    DisconnectedError,
)

skip_without("dash")


def test_answers_are_worked_out_once_and_forgotten_when_there_are_too_many() -> None:
    answers, made = AnswerQueue(max_bytes=4000), []

    def make(number: int) -> dict[str, object]:
        made.append(number)
        return {"number": number, "noise": np.random.default_rng(number).bytes(600).hex()}

    threads = [threading.Thread(target=answers.get, args=(1, lambda: make(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    for number in range(2, 30):
        answers.get(number, lambda number=number: make(number))
    assert answers.cache_bytes <= 4000
    answers.get(1, lambda: make(1))
    assert made.count(1) == 2
    with pytest.raises(ZeroDivisionError):
        answers.get("bad", lambda: 1 / 0)
    assert answers.get("bad", lambda: {"now": "good"})


def blocked() -> tuple[AnswerQueue, threading.Event]:
    """A queue whose thread is busy until the event is set."""
    answers, busy, gate = AnswerQueue(), threading.Event(), threading.Event()
    threading.Thread(target=answers.run, args=(lambda: busy.set() or gate.wait(150),)).start()
    assert busy.wait(150)
    return answers, gate


def test_what_is_wanted_now_goes_before_what_is_fetched_ahead() -> None:
    answers, gate = blocked()
    order: list[object] = []

    def ahead(number: int) -> None:
        answers.get(number, lambda: order.append(number), urgency=AHEAD)

    waiting = [threading.Thread(target=ahead, args=(number,)) for number in range(MAX_AHEAD)]
    for number, thread in enumerate(waiting):
        thread.start()
        until(lambda number=number: answers.position(number) == number + 1)
    with pytest.raises(BusyError):
        answers.get("one too many", lambda: None, urgency=AHEAD)
    request = threading.Thread(target=answers.get, args=(3, lambda: order.append(3)))
    request.start()
    until(lambda: answers.position(3) == 1)
    gate.set()
    for thread in (*waiting, request):
        thread.join(150)
    assert order[0] == 3
    assert sorted(order) == list(range(MAX_AHEAD))


def test_an_innings_goes_before_tests_and_what_nobody_waits_for_is_not_begun() -> None:
    answers, gate = blocked()
    order: list[object] = []
    left = threading.Event()

    def abandoned(number: int) -> None:
        with pytest.raises(DisconnectedError):
            answers.get(number, lambda: order.append(number), disconnected=left.is_set)

    def ask(key: str, urgency: int) -> None:
        answers.get(key, lambda: order.append(key), urgency=urgency)

    threads = [threading.Thread(target=abandoned, args=(number,)) for number in range(20)]
    threads += [threading.Thread(target=ask, args=("tests", ON_DEMAND))]
    threads += [threading.Thread(target=ask, args=("innings", FIRST))]
    for thread in threads:
        thread.start()
    until(lambda: answers.position("tests") == 22)
    assert (answers.position("innings"), answers.position("tests")) == (1, 22)
    left.set()
    for thread in threads[:20]:
        thread.join(150)
    assert answers.position("tests") == 2
    gate.set()
    for thread in threads:
        thread.join(150)
    assert order == ["innings", "tests"]


def test_what_takes_long_lets_others_by_and_ends_when_nobody_waits() -> None:
    answers, order, left = AnswerQueue(), [], threading.Event()

    def story() -> dict[str, object]:
        while True:
            order.append("part")
            answers.let_others_run()

    def leaving() -> None:
        with pytest.raises(DisconnectedError):
            answers.get("story", story, urgency=LONG, disconnected=left.is_set)

    thread = threading.Thread(target=leaving)
    thread.start()
    until(lambda: "part" in order)
    answers.get("innings", lambda: order.append("innings"), urgency=FIRST)
    answers.get("tests", lambda: order.append("tests"))
    assert order.index("part") < order.index("innings") < order.index("tests")
    left.set()
    thread.join(150)
    answers.get("after", lambda: order.append("after"), urgency=LONG)
    assert order[-1] == "after"
