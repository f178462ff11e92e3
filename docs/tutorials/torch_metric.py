"""Confidence ECE over batches of logits; the sums stay on the device that holds the logits."""

import numpy as np
import torch

import trueness as tn

device = "cuda" if torch.cuda.is_available() else "cpu"
metric = tn.torch.CalibrationError(kind="confidence", from_logits=True, bins=10, device=device)
stored = np.load("digits.npz")  # the logits and labels of the test set
for labels, logits in zip(np.array_split(stored["y"], 5), np.array_split(stored["z"], 5), strict=True):
    metric.update(torch.tensor(labels, device=device), torch.tensor(logits, device=device))

print(f"{len(stored['y'])} rows in 5 batches, confidence ECE {metric.compute().item():.4f}")
