"""Arguments of functions that are not ours to evaluate."""

from __future__ import annotations

import sys

import pytest

import hodo
from hodo._signature import parameters_of, signature_of


class Odd:
    @property
    def __signature__(self) -> object:
        raise NameError("a name that is imported for type checkers alone")

    def __call__(self, request_id: str) -> str:
        return request_id


def test_what_raises_when_it_is_asked_has_none() -> None:
    assert signature_of(Odd()) is None and parameters_of(Odd()) == []
    assert [each.name for each in parameters_of(lambda first, *rest: None)] == ["first", "rest"]


def test_a_request_of_such_a_function_is_answered() -> None:
    assert hodo.inference(Odd())("r1") == "r1"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated before")
def test_annotations_for_type_checkers_alone_are_not_evaluated() -> None:
    names: dict[str, object] = {}
    exec("def answer(request_id: Nowhere): return request_id", names)
    assert [each.name for each in parameters_of(names["answer"])] == ["request_id"]
