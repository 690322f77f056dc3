"""Work in step: who goes when, and what one's failure means to the others."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest

from tidegate.infra.in_step import InStep, Steps


def told(log: list[str], name: str, steps: int) -> Steps[str]:
    for number in range(1, steps):
        log.append(f"{name}{number}")
        yield
    log.append(f"{name}{steps}")
    return name


async def test_each_step_is_taken_by_all_before_the_next() -> None:
    log: list[str] = []
    in_step = InStep()
    outcomes = await asyncio.gather(*(in_step.do(told(log, name, 3)) for name in "ab"))
    assert outcomes == ["a", "b"]
    assert log == ["a1", "b1", "a2", "b2", "a3", "b3"]


async def test_who_has_fewer_steps_keeps_nobody_waiting() -> None:
    log: list[str] = []
    in_step = InStep()
    short, long = in_step.do(told(log, "a", 1)), in_step.do(told(log, "b", 3))
    assert (await short, await long) == ("a", "b")
    assert log == ["a1", "b1", "b2", "b3"]


async def test_nobody_fails_for_another() -> None:
    def failing() -> Steps[str]:
        yield
        raise ValueError("13 is refused")

    log: list[str] = []
    in_step = InStep()
    failed, done = await asyncio.gather(in_step.do(failing()), in_step.do(told(log, "a", 3)), return_exceptions=True)
    assert isinstance(failed, ValueError)
    assert done == "a"


async def test_whoever_has_gone_is_left_out() -> None:
    log: list[str] = []
    in_step = InStep()
    gone, other = in_step.do(told(log, "a", 2)), in_step.do(told(log, "b", 2))
    gone.cancel()
    assert await other == "b"
    assert log == ["b1", "b2"]
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_who_comes_meanwhile_goes_with_the_next() -> None:
    """Also when a step itself asks for more."""
    log: list[str] = []
    in_step = InStep()
    later: list[asyncio.Future[str]] = []

    def asking() -> Steps[str]:
        later.append(in_step.do(told(log, "b", 2)))
        yield
        log.append("a")
        return "a"

    assert await in_step.do(asking()) == "a"
    assert await later[0] == "b"
    assert log == ["a", "b1", "b2"]


async def test_when_the_process_ends_nobody_waits_on() -> None:
    def ending() -> Steps[str]:
        yield
        raise KeyboardInterrupt

    in_step = InStep()
    last, other = in_step.do(ending()), in_step.do(told([], "a", 3))
    in_step._waiting, waiting = [], in_step._waiting
    await asyncio.sleep(0)  # What was scheduled finds nothing: only here may it be raised.
    in_step._waiting = waiting
    with pytest.raises(KeyboardInterrupt):
        in_step._go()
    assert (last.cancelled(), other.cancelled()) == (True, True)


async def test_it_runs_in_nobodys_context() -> None:
    name = ContextVar("name", default="nobody")
    name.set("who came first")

    def asking() -> Steps[str]:
        yield
        return name.get()

    assert await InStep().do(asking()) == "nobody"
