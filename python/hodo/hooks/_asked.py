"""How a program asks for items and stops asking, by the code that its frames are in.

An iterator is told neither: a ``for`` loop asks as ``next`` does, and one that is left by an exception
drops its iterator as one that is left by ``break``.
"""

from __future__ import annotations

import dis
import functools
import inspect
from opcode import opmap, opname
from types import CodeType, FrameType

Place = tuple[CodeType, int]
"""The code of a function and an operation in it."""
# The head of a `for` loop, and `yield from`.
_ASKING = (opmap["FOR_ITER"], opmap["SEND"])
# Where a generator waits; on Python 3.12 and 3.13 what it does when it is closed there.
_WAITING = ("YIELD_VALUE", "RESUME", "CLEANUP_THROW", "SEND")
# What drops an iterator while nothing is wrong: `break` and `return`, `=` and `del` of a name.
_NAMES = ("FAST", "NAME", "GLOBAL", "DEREF")
_DROPPING = (
    *("POP_TOP", "END_FOR", "POP_ITER", "RETURN_"),
    *(f"{what}_{kind}" for what in ("STORE", "DELETE") for kind in _NAMES),
)
# What may drop one or raise: the end of another iterator, `=` and `del` of something else.
_DROPPING_OR_RAISING = ("FOR_ITER", "STORE_", "DELETE_")
_CACHE = opmap["CACHE"]
_CALLING = ("CALL", "PRECALL", "CALL_KW")
_BY_HAND = frozenset(("next", "__next__", "send", "islice"))
# What asks for all there is.
_UNTIL_THE_END = frozenset(
    "Counter OrderedDict all any array bytearray bytes collect deque dict extend extendleft fmean frozenset"
    " fromiter fsum join list max mean min prod reduce set sorted sum tuple update writelines".split()
)


def loops(frame: FrameType | None) -> tuple[Place, ...]:
    """Where the ``for`` loop is that asks for an item in a frame; nothing where it is asked by hand.

    A loop in a generator is as far from its end as whoever asks the generator: the places of all of
    them, or nothing where one asks by hand.
    """
    found: list[Place] = []
    while frame is not None and _operation(frame) in _ASKING:
        found.append((frame.f_code, _offset(frame)))
        if not frame.f_code.co_flags & inspect.CO_GENERATOR:
            return tuple(found)
        frame = frame.f_back
        while frame is not None and frame.f_code.co_name == "__next__":
            frame = frame.f_back
    return () if frame is not None and _asks_by_hand(frame) else tuple(found)


def is_left_by_exception(frame: FrameType | None, places: tuple[Place, ...]) -> bool:
    """Whether an exception goes through a frame that drops the iterator of loops in these places."""
    asking = dict(places)
    while frame is not None and frame.f_code in asking:
        name = opname[_operation(frame)]
        if name not in _WAITING:
            # Of a generator that is between, whose own frame is gone by now or waits.
            is_closing = frame.f_code is not places[0][0] and _is_call_of("close", frame)
            if name.startswith(_DROPPING) or is_closing:
                return False
            # Until its loop is left, the loop itself has the iterator: nothing in there drops it.
            is_drop = name.startswith(_DROPPING_OR_RAISING)
            return not is_drop or _offset(frame) in _body(frame.f_code, asking[frame.f_code])
        if not frame.f_code.co_flags & inspect.CO_GENERATOR:
            return False
        frame = frame.f_back
    return False


def _operation(frame: FrameType) -> int:
    """What is running in a frame."""
    code, at = frame.f_code.co_code, _offset(frame)
    return code[at] if 0 <= at < len(code) else _CACHE


def _offset(frame: FrameType) -> int:
    """Where in its code that is."""
    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and code[at] == _CACHE:
        at -= 2
    return at


@functools.lru_cache(maxsize=256)
def _body(code: CodeType, at: int) -> range:
    """The operations inside of the ``for`` loop whose head is there."""
    head = next((each for each in dis.get_instructions(code) if each.offset == at), None)
    is_loop = head is not None and head.opname == "FOR_ITER"
    return range(at + 2, int(head.argval)) if head is not None and is_loop else range(0)


def _asks_by_hand(frame: FrameType) -> bool:
    """Whether something is called that asks for one item, as ``next``, rather than until the end, as ``list``."""
    if not _is_call(frame):
        # As `*` and `=` do, until the end.
        return False
    names = _names_in_call(frame.f_code, frame.f_lasti)
    return not names & _UNTIL_THE_END or bool(names & _BY_HAND)


def _is_call(frame: FrameType) -> bool:
    return opname[_operation(frame)] in _CALLING


def _is_call_of(name: str, frame: FrameType) -> bool:
    return _is_call(frame) and name in _names_in_call(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=256)
def _names_in_call(code: CodeType, at: int) -> frozenset[str]:
    """The names in the source of a call."""
    instructions = list(dis.get_instructions(code))
    place = next((each.positions for each in instructions if each.offset == at), None)
    if place is None or place.lineno is None:
        return frozenset()
    lines = range(place.lineno, (place.end_lineno or place.lineno) + 1)
    loads = (each for each in instructions if each.opname.startswith("LOAD_"))
    return frozenset(
        str(each.argval) for each in loads if each.positions and each.positions.lineno in lines
    )
