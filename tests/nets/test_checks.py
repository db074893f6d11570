import pytest

from unknot.core.errors import ConfigError, ShapeError
from unknot.nets.parts.layers import check_image, check_latents


def test_what_fits_passes():
    check_latents(1)
    check_image("any", (1, 1, 7), ())
    check_image("some", (2, 128, 128), (64, 128))


def test_messages_say_what_was_expected_and_what_came():
    with pytest.raises(ConfigError) as refused:
        check_latents(0)
    assert str(refused.value) == "net.latents must be a whole number from 1 to 1,000,000; got 0."
    with pytest.raises(ShapeError) as caught:
        check_image("some", (3, 64, 128), (64, 128))
    assert str(caught.value) == (
        "some takes images with one or more channels of 64 x 64 or 128 x 128 pixels; "
        "got (channels, height, width) = (3, 64, 128). "
        "Resize them, or choose a net that takes them: conv, linear, mlp, ozcan_mlp."
    )
    with pytest.raises(ShapeError, match=r"of one or more pixels; got .* = \(1, 0, 4\)\.$"):
        check_image("any", (1, 0, 4), ())


def test_a_refusal_names_the_nets_that_take_the_size():
    with pytest.raises(
        ShapeError, match=r"choose a net that takes them: conv, ozcan_cnn, linear, "
    ):
        check_image("conv64", (3, 128, 128), (64,))
