"""Transposed convolutions on a CPU in bfloat16: the same numbers, without a slow sum.

With a bias to differentiate, PyTorch's derivative of a transposed convolution takes twice as long
in bfloat16 as without one, though the bias needs no more than a sum of the gradient. So the bias
goes into the convolution as a constant, and its gradient through the addition of a zero.
"""

from torch import Tensor, conv_transpose2d, get_autocast_dtype, is_autocast_enabled, nn


def sum_biases(modules: nn.Module) -> None:
    """Let all transposed convolutions of some modules be `Transposed`."""
    for module in modules.modules():
        if type(module) is nn.ConvTranspose2d and module.bias is not None:
            module.__class__ = Transposed


class Transposed(nn.ConvTranspose2d):
    """A transposed convolution whose bias has the sum of the gradient as its gradient."""

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Images ``[n, c, h, w]``, or one without ``n``."""
        bias, padding = self.bias, self.padding
        if bias is None or isinstance(padding, str):
            return super().forward(x, output_size)
        if output_size is not None or not is_autocast_enabled("cpu"):
            return super().forward(x, output_size)
        zero = (bias - bias.detach()).to(get_autocast_dtype("cpu"))
        constant = conv_transpose2d(
            x,
            self.weight,
            bias.detach(),
            self.stride,
            padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )
        return constant + zero[:, None, None]
