"""One model, every question; and the decisions that follow from the answers."""
