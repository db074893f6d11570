"""The fastest ways to cut kernels that were measured: ``bench/kernels.py``."""

from unknot.engine.kernels.shape import Config, Shape

CAPABILITY = (9, 0)
"""Of the GPU, an H200."""
TUNED: dict[str, dict[Shape, Config]] = {
    "bf16": {
        Shape("conv_down", 32, 1, 32, 4, False): Config(128, 32, 16, 4, 3),
        Shape("weight_gradient_few", 32, 1, 32, 4, False): Config(128, 32, 16, 2, 1),
        Shape("conv_down", 16, 32, 32, 4, False): Config(128, 32, 32, 4, 4),
        Shape("conv_up", 16, 32, 32, 4, False): Config(128, 64, 128, 4, 1),
        Shape("weight_gradient", 16, 32, 32, 4, False): Config(128, 128, 128, 4, 2, 256),
        Shape("joint_down", 16, 32, 32, 4, False): Config(64, 128, 128, 4, 2, 256, ones=True),
        Shape("conv_down", 8, 32, 64, 4, False): Config(128, 64, 32, 4, 4),
        Shape("conv_up", 8, 32, 64, 4, False): Config(128, 128, 64, 8, 3),
        Shape("weight_gradient", 8, 32, 64, 4, False): Config(128, 128, 64, 4, 2, 256, ones=True),
        Shape("conv_down", 4, 64, 64, 4, False): Config(128, 64, 64, 8, 4),
        Shape("conv_up", 4, 64, 64, 4, False): Config(128, 128, 64, 8, 3),
        Shape("weight_gradient", 4, 64, 64, 4, False): Config(128, 128, 128, 4, 2, 512, ones=True),
        Shape("conv_down", 4, 64, 64, 4, True): Config(128, 64, 64, 8, 4),
        Shape("conv_up", 4, 64, 64, 4, True): Config(128, 128, 32, 8, 4),
        Shape("weight_gradient", 4, 64, 64, 4, True): Config(128, 128, 128, 4, 2, 512),
        Shape("conv_down", 8, 32, 64, 4, True): Config(128, 64, 32, 8, 4),
        Shape("conv_up", 8, 32, 64, 4, True): Config(128, 128, 64, 8, 3),
        Shape("weight_gradient", 8, 32, 64, 4, True): Config(128, 128, 128, 4, 3, 256, ones=True),
        Shape("conv_down", 16, 32, 32, 4, True): Config(256, 32, 32, 8, 4),
        Shape("conv_up", 16, 32, 32, 4, True): Config(64, 128, 32, 4, 3),
        Shape("weight_gradient", 16, 32, 32, 4, True): Config(128, 128, 128, 4, 2, 256),
        Shape("conv_down", 32, 1, 32, 4, True): Config(128, 32, 16, 4, 3),
        Shape("conv_up", 32, 1, 32, 4, True): Config(128, 16, 128, 4, 1),
        Shape("conv_up", 32, 3, 32, 4, True): Config(128, 16, 128, 4, 1),
        Shape("weight_gradient_few", 32, 1, 32, 4, True): Config(128, 32, 16, 2, 2),
        Shape("conv_down", 32, 3, 32, 4, False): Config(256, 32, 64, 8, 1),
        Shape("weight_gradient_few", 32, 3, 32, 4, False): Config(128, 32, 64, 2, 1, 512),
        Shape("conv_down", 32, 3, 32, 4, True): Config(128, 32, 64, 4, 3),
        Shape("weight_gradient_few", 32, 3, 32, 4, True): Config(128, 32, 64, 2, 2, 512, ones=True),
        Shape("joint_up", 32, 3, 32, 4, True): Config(64, 32, 64, 4, 3),
        Shape("joint_up", 32, 1, 32, 4, True): Config(128, 32, 16, 4, 3, 512),
        Shape("conv_down", 8, 32, 64, 2, False): Config(128, 64, 64, 4, 2),
        Shape("conv_up", 8, 32, 64, 2, False): Config(64, 64, 64, 4, 1),
        Shape("weight_gradient", 8, 32, 64, 2, False): Config(128, 128, 64, 4, 2, 2048),
        Shape("joint_down", 8, 32, 64, 2, False): Config(64, 128, 64, 4, 3, 256),
        Shape("conv_down", 4, 64, 64, 2, False): Config(64, 64, 64, 4, 3),
        Shape("conv_up", 4, 64, 64, 2, False): Config(64, 128, 64, 4, 1),
        Shape("weight_gradient", 4, 64, 64, 2, False): Config(128, 128, 64, 4, 3),
        Shape("joint_down", 4, 64, 64, 2, False): Config(64, 128, 64, 4, 3),
    },
    "tf32": {},
    "float32": {},
}
"""By precision; of a grid, for 64 members and a batch of 64.

`conv_up` to three channels was not measured in a grid: it is cut as that to one.
"""


def tuned(shape: Shape, precision: str, capability: tuple[int, int]) -> Config | None:
    """What was measured on such a GPU."""
    return TUNED[precision].get(shape) if capability == CAPABILITY else None
