"""A model as files for others: plain PyTorch, ONNX, a model card, and the hub that keeps them."""
