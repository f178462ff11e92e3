"""Score held-out rows with the candidate of this branch, and write labels and scores to a file."""

import sys

import polars as pl
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
malignant = (y == 0).astype(int)
candidate = make_pipeline(StandardScaler(), LogisticRegression(C=1))
risks = cross_val_predict(candidate, X, malignant, cv=10, method="predict_proba")

pl.DataFrame({"malignant": malignant, "score": risks[:, 1]}).write_csv(sys.argv[1])
