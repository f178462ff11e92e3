"""What calibrated scores would show by chance: redrawn labels and noise floors."""
