"""Confidence ECE over batches of logits; the sums stay on the device that holds the logits."""

import numpy as np
import torch

import trueness as tn

device = "cuda" if torch.cuda.is_available() else "cpu"
metric = tn.torch.CalibrationError(kind="confidence", from_logits=True, device=device)
stored = np.load("digits.npz")  # labels and logits of the test set
for batch in np.array_split(np.arange(len(stored["y"])), 5):
    labels = torch.tensor(stored["y"][batch], device=device)
    logits = torch.tensor(stored["z"][batch], device=device)
    metric.update(labels, logits)

print(f"{len(stored['y'])} rows in 5 batches")
print(f"confidence ECE {metric.compute().item():.4f}")
