"""The bootstrap's random indices, and that analysis needs no PyTorch."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from unknot.analysis import bootstrap
from unknot.core import noise


@given(
    st.integers(-(2**63), 2**63 - 1), st.text(max_size=20),
    st.integers(1, 9), st.integers(0, 9), st.integers(1, 2**40),
)  # fmt: skip
def test_indices_are_those_of_noise(seed, stream, draws, n, high):
    ours = bootstrap.indices(seed, stream, draws, n, high=high)
    assert ours.tolist() == noise.integers(seed, stream, 0, draws, n, high=high).tolist()


def test_analysis_needs_no_torch():
    code = "import sys, unknot.analysis.published; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "unknot.analysis.statistics" in done.stdout.split()
    assert not {"torch", "pandas", "matplotlib"} & set(done.stdout.split())
