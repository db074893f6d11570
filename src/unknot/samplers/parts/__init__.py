"""What samplers share: their protocol, and weights of rows."""
