#!/bin/sh
# Run a script on a GPU machine that has PyTorch, NumPy, SciPy and little else, and no network.
#
#   sh bench/bare.sh fetch [packages]          where there is a network: wheels into build/wheels (Python 3.12)
#   sh bench/bare.sh bench/gpu.py [options]    on the machine, with build/wheels taken along
#   sh bench/bare.sh -m pytest -m gpu ...
#
# Of the wheels only those are unpacked whose package the machine does not have. `fetch pandas six` takes
# more along than what training and tests need; what they need themselves has to be named, too.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
if [ "${1:-}" = fetch ]; then
    shift
    exec "$python" -m pip download --quiet --no-deps --dest build/wheels --only-binary :all: \
        --implementation cp --python-version 3.12 --abi cp312 --abi abi3 --abi none \
        --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
        --platform manylinux_2_28_x86_64 --platform any \
        --constraint constraints.txt platformdirs filelock tomlkit pydantic pydantic-core \
        annotated-types typing-inspection typing-extensions typer rich click shellingham \
        markdown-it-py mdurl pygments jinja2 markupsafe jaxtyping wadler-lindig safetensors \
        pytest hypothesis pluggy iniconfig packaging sortedcontainers "$@"
fi
site=$(mktemp -d)
"$python" - "$site" build/wheels/*.whl <<'END'
import importlib.util, sys, zipfile
from pathlib import Path

for wheel in filter(Path.exists, map(Path, sys.argv[2:])):
    archive = zipfile.ZipFile(wheel)
    # The top folder of a wheel is what it is imported as; a wheel with files alone has one there.
    tops = [n.partition("/")[0] for n in archive.namelist() if ".dist-info" not in n and ".data" not in n]
    name = next(t.removesuffix(".py") for t in tops if not t.startswith("_") or t == tops[-1])
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        archive.extractall(sys.argv[1])
END
PYTHONUNBUFFERED=1 PYTHONPATH="src:$site" exec "$python" "$@"
