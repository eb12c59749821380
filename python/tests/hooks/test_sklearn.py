"""scikit-learn: estimators that record."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import record

pytest.importorskip("sklearn")

DATA = """
import copy, inspect, pickle
import hodo
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone, is_classifier
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
X = np.random.default_rng(0).normal(size=(60, 4))
y = (X[:, 0] > 0).astype(int)
"""
START = "import hodo; hodo.init(app='learn', gpu='off')\n" + DATA


def lines(tree: str) -> list[str]:
    return tree.strip().splitlines()


def test_a_wrapped_estimator_is_still_what_it_was(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
model = LogisticRegression(C=0.5)
assert hodo.wrap(model) is model and hodo.wrap(model) is model
assert isinstance(model, LogisticRegression) and type(model).__name__ == "LogisticRegression"
assert repr(model) == "LogisticRegression(C=0.5)" and is_classifier(model)
assert model.get_params() == LogisticRegression(C=0.5).get_params()
assert model.set_params(C=0.7) is model
assert inspect.signature(model.fit) == inspect.signature(LogisticRegression().fit)
assert type(model).__doc__ == LogisticRegression.__doc__
model.fit(X, y)
again = [clone(model), copy.copy(model), copy.deepcopy(model)]
again += [pickle.loads(pickle.dumps(model, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
for one in again:
    assert isinstance(one, LogisticRegression) and one.get_params() == model.get_params()
for one in again[1:]:
    assert (one.predict(X) == model.predict(X)).all()
assert model.score(X, y) > 0.9
try:
    model.predict(X[:, :2])
    raise SystemExit("not raised")
except ValueError:
    pass
other = LogisticRegression().fit(X, y)          # records nothing
assert hodo.unwrap(model) is model and type(model) is LogisticRegression
model.predict(X)                                # neither
assert pickle.dumps(model).find(b"hodo") == -1
for what in (LogisticRegression, 5, None, "model"):
    try:
        hodo.wrap(what)
        raise SystemExit(f"wrapped {what!r}")
    except TypeError:
        pass
""",
    )
    assert lines(run.tree) == [
        "LogisticRegression.fit 1",
        # Two for each of eight copies, and one that fails.
        "LogisticRegression.predict 17",
        "  LogisticRegression.decision_function 17",
        "LogisticRegression.score 1",
        "  LogisticRegression.predict 1",
        "    LogisticRegression.decision_function 1",
    ]
    assert run.node("LogisticRegression.predict")["failed"] == 1
    assert run.attributes("LogisticRegression.fit") == [
        {"estimator": "LogisticRegression", "method": "fit", "rows": 60, "columns": 4}
    ]


def test_wrapped_pipelines_searches_and_cross_validation(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
with hodo.scope("pipeline"):
    pipeline = hodo.wrap(make_pipeline(StandardScaler(), LogisticRegression()))
    assert pipeline.fit(X, y).predict(X).shape == (60,)
    assert hasattr(pipeline, "predict_proba")
    assert not hasattr(hodo.wrap(make_pipeline(StandardScaler(), SVC())), "predict_proba")
    assert not hasattr(hodo.wrap(make_pipeline(StandardScaler(), StandardScaler())), "predict")
with hodo.scope("cross"):
    assert len(cross_val_score(pipeline, X, y, cv=5)) == 5
with hodo.scope("search"):
    grid = {"logisticregression__C": [0.1, 1.0]}
    search = hodo.wrap(GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), grid, cv=3))
    search.fit(X, y)
    assert isinstance(search.best_estimator_[0], StandardScaler)
    search.predict(X)
with hodo.scope("voting"):
    hodo.wrap(VotingClassifier([("a", LogisticRegression()), ("b", SGDClassifier())])).fit(X, y)
with hodo.scope("frames"):
    try:
        import pandas
        scaler = hodo.wrap(StandardScaler()).set_output(transform="pandas")
        assert isinstance(scaler.fit_transform(pandas.DataFrame(X)), pandas.DataFrame)
    except ImportError:
        pass
""",
    )
    counts = {tuple(node["path"]): node["count"] for node in run.report["nodes"]}
    for n, where, then in (
        (1, ("pipeline",), "predict"),
        (5, ("cross",), "score"),
        (7, ("search", "GridSearchCV.fit"), "score"),
    ):
        assert counts[(*where, "Pipeline.fit")] == n
        assert counts[(*where, "Pipeline.fit", "LogisticRegression.fit")] == n
        assert counts[(*where, "Pipeline.fit", "StandardScaler.fit_transform")] == n
        # The best one of a search is fitted once more, and not scored.
        assert counts[(*where, f"Pipeline.{then}")] == (6 if n == 7 else n)
    assert counts[("search", "GridSearchCV.predict", "Pipeline.predict")] == 1
    assert counts[("voting", "VotingClassifier.fit", "SGDClassifier.fit")] == 1
    assert run.left_open == 0


def test_every_estimator_by_one_line(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        """
import hodo
hodo.profile(app="learn", gpu="off")
"""
        + DATA
        + """
class Own(BaseEstimator, ClassifierMixin):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self
    def predict(self, X):
        return np.zeros(len(X), dtype=int)

class Heir(Own):
    def fit(self, X, y):
        return super().fit(X, y)

class Twice(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        return X * 2

pipeline = make_pipeline(StandardScaler(), Twice(), LogisticRegression()).fit(X, y)
pipeline.predict(X)
assert hasattr(pipeline, "predict_proba")
assert not hasattr(make_pipeline(StandardScaler(), SVC()), "predict_proba")
Heir().fit(X, y).score(X, y)
hodo.wrap(Own()).fit(X, y)
assert pickle.loads(pickle.dumps(pipeline)).predict(X).shape == (60,)
assert hodo.health()["hooks"]["sklearn"] == "hooked", hodo.health()["hooks"]
hodo.shutdown()
assert "_hodo" not in vars(LogisticRegression.fit) and "_hodo" not in vars(Own.fit)
class Later(Own):
    def fit(self, X, y):
        return self
assert "_hodo" not in vars(Later.fit) and Later().fit(X, y).predict(X) is not None
""",
    )
    # What scikit-learn uses inside of an estimator differs between releases.
    assert [line for line in lines(run.tree) if "LabelEncoder" not in line] == [
        "Heir.fit 1",
        "Heir.score 1",
        "  Heir.predict 1",
        "Own.fit 1",
        "Pipeline.fit 1",
        "  LogisticRegression.fit 1",
        "  StandardScaler.fit_transform 1",
        "    StandardScaler.fit 1",
        "      StandardScaler.partial_fit 1",
        "    StandardScaler.transform 1",
        "  Twice.fit_transform 1",
        "    Twice.fit 1",
        "    Twice.transform 1",
        "Pipeline.predict 2",
        "  LogisticRegression.predict 2",
        "    LogisticRegression.decision_function 2",
        "  StandardScaler.transform 2",
        "  Twice.transform 2",
    ]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_what_works_in_parallel_joins(tmp_path: Path, backend: str) -> None:
    run = record(
        tmp_path,
        START
        + f"""
import joblib
if __name__ == "__main__":
    model = hodo.wrap(make_pipeline(StandardScaler(), LogisticRegression()))
    with joblib.parallel_config({backend!r}), hodo.scope("cross"):
        scores = cross_validate(model, X, y, cv=6, n_jobs=2)
    assert len(scores["test_score"]) == 6
"""
        + """
    health = hodo.health()
    assert not health["wrong_thread"] and not health["out_of_order"], health
    hodo.flush()
""",
    )
    counts = {tuple(node["path"]): node["count"] for node in run.report["nodes"]}
    assert counts.get(("cross", "Pipeline.fit")) == 6, run.tree
    assert counts[("cross", "Pipeline.fit", "LogisticRegression.fit")] == 6
    assert counts[("cross", "Pipeline.score")] == 6


def test_a_forest_on_threads(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        "import hodo; hodo.profile(frameworks=['scikit-learn'], gpu='off')\n"
        + DATA
        + "RandomForestClassifier(20, n_jobs=2, random_state=0).fit(X, y).predict_proba(X)\n",
    )
    path = ("RandomForestClassifier.predict_proba", "DecisionTreeClassifier.predict_proba")
    assert run.node(*path)["count"] == 20


def test_a_method_of_a_pipeline_is_still_a_method(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        "import hodo; hodo.profile(gpu='off')\n"
        + DATA
        + """
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
assert inspect.ismethod(model.predict) and model.predict.__self__ is model
assert model.predict == model.predict and model.predict != model.score
assert list(inspect.signature(model.predict).parameters)[0] == "X"
assert (pickle.loads(pickle.dumps(model.predict))(X) == model.predict(X)).all()
with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
    assert (list(pool.map(model.predict, [X]))[0] == model.predict(X)).all()
""",
    )
    assert run.node("Pipeline.predict")["count"] == 4


def test_a_class_that_allows_no_children_is_not_wrapped(tmp_path: Path) -> None:
    record(
        tmp_path,
        START
        + """
class Strict(LogisticRegression):
    def __init_subclass__(cls, *, key, **rest):
        super().__init_subclass__(**rest)

inside = StandardScaler()
try:
    hodo.wrap(make_pipeline(inside, Strict()))
    raise SystemExit("wrapped")
except TypeError as error:
    assert "Strict cannot be wrapped" in str(error) and "hodo.profile()" in str(error)
assert type(inside) is StandardScaler, "all or none"
""",
    )


def test_a_search_by_processes_that_outlive_the_recording(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        "import hodo; hodo.profile(frameworks=['sklearn'], gpu='off')\n"
        + DATA
        + """
import pickle
if __name__ == "__main__":
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3, n_jobs=2)
    clone(pickle.loads(pickle.dumps(search))).fit(X, y)
    hodo.shutdown()
    hodo.shutdown()
    clone(search).fit(X, y)
""",
    )
    # Six for the search and one with the best; the second search is nobody's.
    assert run.node("GridSearchCV.fit")["count"] == 1
    assert run.node("GridSearchCV.fit", "LogisticRegression.fit")["count"] == 7, run.tree
    assert run.node("GridSearchCV.fit", "LogisticRegression.score")["count"] == 6


def test_data_whose_shape_cannot_be_told_made_a_fit_fail(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        "import hodo; hodo.profile(gpu='off')\n"
        + DATA
        + """
class Lazy:
    @property
    def shape(self):
        raise RuntimeError("not computed")

class Own(BaseEstimator):
    def fit(self, X):
        return self

Own().fit(Lazy())
""",
    )
    assert run.attributes("Own.fit") == [{"estimator": "Own", "method": "fit"}]


def test_classes_that_came_while_it_was_hooked_kept_hodo(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        "import hodo; hodo.profile(gpu='off')\n"
        + DATA
        + """
import sklearn.cluster, sklearn.compose, sklearn.decomposition, sklearn.impute

class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        return X

StandardScaler().fit_transform(X), Own().fit(X).transform(X)
told = str(hodo.trace())
assert "StandardScaler.fit_transform" in told and "Own.transform" in told, told
hodo.shutdown()

def with_those_below(kind):
    return {kind}.union(*(with_those_below(each) for each in kind.__subclasses__()))

def layers(thing):
    while thing is not None:
        yield thing
        thing = getattr(thing, "__wrapped__", None)

def is_ours(thing):
    code = getattr(thing, "__code__", None)
    return type(thing).__module__.startswith("hodo") or (code and "hodo/_estimators" in code.co_filename)

kinds = {above for each in with_those_below(BaseEstimator) for above in each.__mro__}
# It makes methods of its own of those it takes from another class: these record nothing.
kinds = {kind for kind in kinds if kind.__name__ != "NearestCentroid"}
left = [f"{kind.__name__}.{name}" for kind in kinds for name, thing in list(vars(kind).items())
        if not isinstance(thing, type) and any(is_ours(each) for each in layers(thing))]
assert len(kinds) > 50 and not left, left
hodo.profile([])
with hodo.scope("not hooked"):
    StandardScaler().fit_transform(X), Own().fit(X).transform(X)
""",
    )
    assert run.tree == "not hooked 1"


def test_parts_that_hodo_needs_itself_do_not_make_a_framework_hooked(ran: Any) -> None:
    ran("""
import hodo
hodo.profile([])
from sklearn.linear_model import LinearRegression
import sklearn.base
from hodo import _estimators
model = LinearRegression()
_estimators.call(model, "fit", model.fit, ([[0.0], [1.0]], [0.0, 1.0]), {})
assert hodo.health()["hooks"] == {}, hodo.health()["hooks"]
hodo.profile(["sklearn"])
assert hodo.health()["hooks"] == {"sklearn": "hooked"}, hodo.health()["hooks"]
""", "sklearn")
