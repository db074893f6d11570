"""The shared words: factor spaces, noise, posteriors, objectives, hyper-parameters, errors."""
