"""What follows from the evidence: a verdict, or passing a gate."""
