"""What a program finds in classes that are hooked: what it wrote there."""

from __future__ import annotations

from typing import Any

ESTIMATORS = """
import hodo
hodo.profile(gpu="off")
import abc, inspect
from unittest import mock
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

def refused(kind, *args):
    try:
        kind(*args)
        return False
    except TypeError as error:
        assert "abstract" in str(error), error
        return True
"""


def test_abstract_methods_of_estimators_were_no_longer_abstract(ran: Any) -> None:
    ran(ESTIMATORS + """
class Above(BaseEstimator, abc.ABC):
    @abc.abstractmethod
    def fit(self, X, y):
        pass

class Still(Above):
    pass

class Own(Above):
    def fit(self, X, y):
        return super().fit(X, y)

assert refused(Above) and refused(Still) and not refused(Own)
assert Above.__abstractmethods__ == Still.__abstractmethods__ == {"fit"} and Own().fit(1, 2) is None
""", "sklearn")


def test_abstract_loaders_were_no_longer_abstract(trained: Any) -> None:
    trained("""
        import abc

        class Above(DataLoader, abc.ABC):
            @abc.abstractmethod
            def __iter__(self):
                pass

        class Still(Above):
            pass

        class Own(Above):
            def __iter__(self):
                return DataLoader.__iter__(self)

        for kind in (Above, Still):
            try:
                kind(data)
                raise SystemExit(f"made {kind}")
            except TypeError as error:
                assert "abstract" in str(error), error
        assert len(list(Own(data, batch_size=5))) == 4
    """)


def test_what_stands_in_a_class_could_not_be_called(ran: Any) -> None:
    run = ran(ESTIMATORS + """
class Own(BaseEstimator):
    def fit(self, X, y=None):
        "Fits."
        return X

there = vars(Own)["fit"]
assert callable(there) and there(Own(), 3) == 3 and there(Own(), X=4) == 4
assert (there.__name__, there.__qualname__, there.__module__, there.__doc__) == ("fit", "Own.fit", "__main__", "Fits.")
assert str(inspect.signature(there)) == "(self, X, y=None)"
for kind in (Own, LogisticRegression):
    with mock.patch.object(kind, "fit", autospec=True) as fit:
        kind().fit([[1]], [1])
        assert fit.called
    assert type(inspect.getattr_static(kind, "fit")).__module__.startswith("hodo"), "it is back in its place"
hodo.shutdown()
assert inspect.isfunction(vars(Own)["fit"]) and inspect.isfunction(vars(LogisticRegression)["fit"])
""", "sklearn")
    assert run.tree == "Own.fit 2"


def test_classes_of_loaders_with_a_mixin_were_kept_alive(trained: Any) -> None:
    trained("""
        import gc, weakref

        def classes():
            class Mixed:
                def __iter__(self):
                    return super().__iter__()

            class Rows(Mixed, DataLoader):
                pass

            class Below(Rows):
                pass

            for kind in (Rows, Below):
                assert len(list(kind(data, batch_size=5))) == 4
            return [weakref.ref(each) for each in (Mixed, Rows, Below)]

        kept = classes()
        gc.collect()
        assert [each() for each in kept] == [None] * 3
    """)


def test_estimators_of_classes_that_cannot_be_changed_could_not_be_defined(ran: Any) -> None:
    run = ran(ESTIMATORS + """
from sklearn.tree._tree import Tree

class Refuses(type):
    def __setattr__(self, name, value):
        raise AttributeError(f"{self.__name__} is as it is")

class OfC(BaseEstimator, Tree):
    def fit(self, X, y=None):
        return self

class AsItIs(BaseEstimator, metaclass=Refuses):
    def fit(self, X, y=None):
        return self

assert OfC.predict is Tree.predict and AsItIs().fit([[1]])
assert OfC(1, __import__("numpy").array([2]), 1).fit([[1]])
hodo.shutdown()
assert inspect.isfunction(vars(OfC)["fit"])
""", "sklearn")
    assert run.tree == "OfC.fit 1"


def test_values_that_stand_where_methods_do_became_functions(ran: Any) -> None:
    ran(ESTIMATORS + """
import functools

class Twice:
    def __get__(self, instance, owner=None):
        return self if instance is None else vars(instance)["kept"]

    def __set__(self, instance, value):
        vars(instance)["kept"] = 2 * value

class Told:
    def __get__(self, instance, owner=None):
        return 0.5

class Own(BaseEstimator):
    transform, predict = Twice(), Told()

    @functools.cached_property
    def score(self):
        return 0.25

    def fit(self, X, y=None):
        return self

def values(own):
    own.transform = 2
    return own.transform, own.predict, own.score, own.score

for own in (Own(), hodo.wrap(Own())):
    assert values(own) == (4, 0.5, 0.25, 0.25), values(own)
    own.fit([[1]])
""", "sklearn")
