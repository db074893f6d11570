"""Triton's names, or stand-ins that let the files here be imported without it."""

# mypy: ignore-errors

from types import SimpleNamespace

try:
    import triton.language as tl
    from triton import jit
except ImportError:
    tl = SimpleNamespace(constexpr=None)

    def jit(function):  # noqa: ANN001, ANN201, D103
        return function


__all__ = ["jit", "tl"]
