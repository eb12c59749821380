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

# The head of a `for` loop, and `yield from`.
_ASKING = (opmap["FOR_ITER"], opmap["SEND"])
# Where a generator waits; on Python 3.12 and 3.13 what it does when it is closed there.
_WAITING = ("YIELD_VALUE", "RESUME", "CLEANUP_THROW", "SEND")
# What drops an iterator while nothing is wrong: `break` and `return`, the end of another iterator, `=`, `del`.
_DROPPING = ("POP_TOP", "FOR_ITER", "END_FOR", "POP_ITER", "STORE_", "DELETE_", "RETURN_")
_CACHE = opmap["CACHE"]
_CALLING = ("CALL", "PRECALL", "CALL_KW")
_BY_HAND = frozenset(("next", "__next__", "send", "islice"))
# What asks for all there is.
_UNTIL_THE_END = frozenset(
    "Counter OrderedDict all any array bytearray bytes collect deque dict extend extendleft fmean frozenset"
    " fromiter fsum join list max mean min prod reduce set sorted sum tuple update writelines".split()
)


def loops(frame: FrameType | None) -> tuple[CodeType, ...]:
    """The code of the ``for`` loop that asks for an item in a frame; nothing where it is asked by hand.

    A loop in a generator is as far from its end as whoever asks the generator: the code of all of
    them, or nothing where one asks by hand.
    """
    found: list[CodeType] = []
    while frame is not None and _operation(frame) in _ASKING:
        found.append(frame.f_code)
        if not frame.f_code.co_flags & inspect.CO_GENERATOR:
            return tuple(found)
        frame = frame.f_back
        while frame is not None and frame.f_code.co_name == "__next__":
            frame = frame.f_back
    return () if frame is not None and _asks_by_hand(frame) else tuple(found)


def is_left_by_exception(frame: FrameType | None, codes: tuple[CodeType, ...]) -> bool:
    """Whether an exception goes through a frame that drops the iterator of loops with these codes."""
    while frame is not None and frame.f_code in codes:
        name = opname[_operation(frame)]
        if name not in _WAITING:
            return not name.startswith(_DROPPING)
        if not frame.f_code.co_flags & inspect.CO_GENERATOR:
            return False
        frame = frame.f_back
    return False


def _operation(frame: FrameType) -> int:
    """What is running in a frame."""
    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and code[at] == _CACHE:
        at -= 2
    return code[at] if 0 <= at < len(code) else _CACHE


def _asks_by_hand(frame: FrameType) -> bool:
    """Whether something is called that asks for one item, as ``next``, rather than until the end, as ``list``."""
    if opname[_operation(frame)] not in _CALLING:
        # As `*` and `=` do, until the end.
        return False
    names = _names_in_call(frame.f_code, frame.f_lasti)
    return not names & _UNTIL_THE_END or bool(names & _BY_HAND)


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
