"""How a model steps: runners, caches, kernels, clocks."""
