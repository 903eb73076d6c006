"""The dashboard's queue: what goes first, what is kept, what nobody waits for."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from needed import skip_without

from attnlens.dashboard.work import (
    AHEAD,
    FIRST,
    LONG,
    MOST_AHEAD,
    NOW,
    Answers,
    BusyError,
    NobodyWaitsError,
)

skip_without("dash")


def test_answers_are_worked_out_once_and_forgotten_when_there_are_too_many() -> None:
    answers, made = Answers(most_bytes=4000), []

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
    assert answers.kept_bytes <= 4000
    answers.get(1, lambda: make(1))
    assert made.count(1) == 2
    with pytest.raises(ZeroDivisionError):
        answers.get("bad", lambda: 1 / 0)
    assert answers.get("bad", lambda: {"now": "good"})


def test_what_is_wanted_now_goes_before_what_is_fetched_ahead() -> None:
    answers, order, gate = Answers(), [], threading.Event()
    threading.Thread(target=answers.run, args=(lambda: gate.wait(20),)).start()
    time.sleep(0.1)

    def ahead(number: int) -> None:
        answers.get(number, lambda: order.append(number), urgency=AHEAD)

    waiting = [threading.Thread(target=ahead, args=(number,)) for number in range(MOST_AHEAD)]
    for thread in waiting:
        thread.start()
        time.sleep(0.02)
    with pytest.raises(BusyError):
        answers.get("one too many", lambda: None, urgency=AHEAD)
    wanted = threading.Thread(target=answers.get, args=(3, lambda: order.append(3)))
    wanted.start()
    time.sleep(0.1)
    gate.set()
    for thread in (*waiting, wanted):
        thread.join(20)
    assert order[0] == 3
    assert sorted(order) == list(range(MOST_AHEAD))


def test_an_innings_goes_before_tests_and_what_nobody_waits_for_is_not_begun() -> None:
    answers, order, gate = Answers(), [], threading.Event()
    threading.Thread(target=answers.run, args=(lambda: gate.wait(20),)).start()
    time.sleep(0.1)
    left = threading.Event()

    def abandoned(number: int) -> None:
        with pytest.raises(NobodyWaitsError):
            answers.get(number, lambda: order.append(number), gone=left.is_set)

    def ask(key: str, urgency: int) -> None:
        answers.get(key, lambda: order.append(key), urgency=urgency)

    asked = [threading.Thread(target=abandoned, args=(number,)) for number in range(20)]
    asked += [threading.Thread(target=ask, args=("tests", NOW))]
    asked += [threading.Thread(target=ask, args=("innings", FIRST))]
    for thread in asked:
        thread.start()
        time.sleep(0.01)
    assert (answers.place("innings"), answers.place("tests")) == (1, 22)
    left.set()
    for thread in asked[:20]:
        thread.join(20)
    assert answers.place("tests") == 2
    gate.set()
    for thread in asked:
        thread.join(20)
    assert order == ["innings", "tests"]


def test_what_takes_long_lets_others_by_and_ends_when_nobody_waits() -> None:
    answers, order, left = Answers(), [], threading.Event()

    def story() -> dict[str, object]:
        for part in range(200):
            order.append(part)
            time.sleep(0.02)
            answers.rest()
        return {}

    def leaving() -> None:
        with pytest.raises(NobodyWaitsError):
            answers.get("story", story, urgency=LONG, gone=left.is_set)

    asked = threading.Thread(target=leaving)
    asked.start()
    time.sleep(0.1)
    answers.get("innings", lambda: order.append("innings"), urgency=FIRST)
    answers.get("tests", lambda: order.append("tests"))
    assert order.index("innings") < order.index("tests") < 100
    left.set()
    asked.join(20)
    answers.get("after", lambda: order.append("after"), urgency=LONG)
    assert 199 not in order
