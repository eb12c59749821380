"""scikit-learn: a search over a pipeline."""

import hodo

hodo.profile()

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

x = np.random.default_rng(0).normal(size=(100, 4))
y = (x[:, 0] > 0).astype(int)
pipeline = make_pipeline(StandardScaler(), LogisticRegression())
GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1.0]}, cv=3).fit(x, y)
