"""A small runtime for speculative sampling. Importing it does not import torch."""
