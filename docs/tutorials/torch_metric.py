"""Confidence ECE over batches of logits; the sums stay on the device that holds the logits."""

import torch

import trueness as tn

device = "cuda" if torch.cuda.is_available() else "cpu"
rows, classes, batches = (10_000, 1_000, 100) if device == "cuda" else (2_000, 100, 5)
torch.manual_seed(0)
metric = tn.torch.CalibrationError(kind="confidence", from_logits=True, bins=15, device=device)
for _ in range(batches):
    logits = 4 * torch.randn(rows, classes, device=device)
    labels = torch.distributions.Categorical(logits=logits / 2).sample()  # the true temperature is 2
    metric.update(labels, logits)

name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
print(f"{name}: {batches * rows:,} rows of {classes:,} classes, confidence ECE {metric.compute().item():.4f}")
