"""Whole nets with Triton's kernels beside the same nets without."""

import pytest
import torch
from engine.triton_device import draw, on_device, on_gpu, operators  # noqa: F401 - for all tests
from torch import nn

from unknot.engine.modules import stack_module


def nets():
    encoder = nn.Sequential(
        nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 5, 2, 2), nn.ReLU(),
        nn.Conv2d(5, 6, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 2 * 2, 3),
    )  # fmt: skip
    decoder = nn.Sequential(
        nn.Linear(3, 24), nn.ReLU(), nn.Unflatten(1, (6, 2, 2)),
        nn.ConvTranspose2d(6, 5, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(5, 4, 4, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(4, 1, 4, 2, 1),
    )  # fmt: skip
    odd = nn.Sequential(  # 16, 8, 4, 3 (no kernel), 1 (odd: no kernel): both ways to change over
        nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 4, 4, 2, 1), nn.ReLU(),
        nn.Conv2d(4, 5, 2), nn.ReLU(), nn.Conv2d(5, 3, 4, 2, 1), nn.ReLU(), nn.Flatten(),
    )  # fmt: skip
    small = nn.Sequential(  # 14, 7, 3: the second is asked for a kernel and has none
        nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 4, 4, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(4, 2, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    return [(encoder, (1, 16, 16)), (decoder, (3,)), (odd, (1, 16, 16)), (small, (1, 14, 14))]


def both(module, shape, dtype=torch.float32, p=3, b=4, compiler=None):
    """Outputs and gradients of a module with kernels and without."""
    weights = {n: draw(p, *w.shape, seed=5) / 4 for n, w in module.named_parameters()}
    x, found = draw(p, b, *shape, seed=6), []
    for kernels in (True, False):
        plan = stack_module(module, kernels=kernels)
        packed = {n: plan.pack(n, w).requires_grad_() for n, w in weights.items()}
        image = x.clone().requires_grad_()

        def run(weights, image, plan=plan):  # casts inside, as in training
            return plan.run({n: w.to(dtype) for n, w in weights.items()}, image.to(dtype)).float()

        y = (compiler(run) if compiler and kernels else run)(packed, image)
        upstream = draw(*y.shape, seed=7)
        found.append([y.detach(), *torch.autograd.grad(y, [image, *packed.values()], upstream)])
    return found


@on_device
@pytest.mark.parametrize("which", range(4))
def test_a_traced_net_is_the_same_with_kernels_and_without(which):
    def compiler(run):
        return torch.compile(run, dynamic=False, backend="aot_eager", fullgraph=True)

    for ours, theirs in zip(*both(*nets()[which], p=1, b=2, compiler=compiler), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@on_device
def test_numbers_without_a_kernel_take_the_plain_way():
    module, shape = nets()[0]
    plan = stack_module(module.double(), kernels=True)
    packed = {
        n: plan.pack(n, draw(2, *w.shape, dtype=torch.float64))
        for n, w in module.named_parameters()
    }
    x = draw(2, 3, *shape, dtype=torch.float64)
    assert torch.equal(plan.run(packed, x), stack_module(module).run(packed, x))


@on_gpu
@pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores")  # off, as users choose it
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_compiled_net_is_the_same(which, dtype):
    """As near to float32 without kernels as its own numbers come without kernels.

    In bfloat16 a ReLU near 0 falls either way: gradients of these nets are off by up to 6 %.
    """

    def compiler(run):
        return torch.compile(run, dynamic=False)

    net, close = nets()[which], {torch.float32: 1e-4, torch.bfloat16: 1e-2}[dtype]
    found = [*both(*net, dtype, compiler=compiler), both(*net)[1]]
    for place, (ours, theirs, right) in enumerate(zip(*found, strict=True)):
        far, usual = ((of - right).norm() / right.norm() for of in (ours, theirs))
        assert far < max(close, 1.5 * usual), (place, far, usual)
