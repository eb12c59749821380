"""Keras: `fit` with validation data, then `predict`; with JAX below, what it jits is in the steps."""

import hodo

hodo.profile()

import keras
import numpy as np

x = np.random.default_rng(0).normal(size=(64, 16)).astype("float32")
y = (x[:, 0] > 0).astype("float32")
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(x, y, batch_size=16, epochs=2, validation_data=(x[:16], y[:16]), verbose=0)
model.predict(x, batch_size=32, verbose=0)
