#!/bin/sh
# Run a script on a GPU machine that has PyTorch and little else, and no network.
#
#   sh bench/bare.sh fetch                     where there is a network: wheels into build/wheels (Python 3.12)
#   sh bench/bare.sh bench/gpu.py [options]    on the machine, with build/wheels taken along
#   sh bench/bare.sh -m pytest -m gpu ...
#
# Of the wheels only those are unpacked whose package the machine does not have.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
if [ "${1:-}" = fetch ]; then
    exec "$python" -m pip download --quiet --no-deps --dest build/wheels --only-binary :all: \
        --implementation cp --python-version 3.12 --abi cp312 --abi abi3 --abi none \
        --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
        --platform manylinux_2_28_x86_64 --platform any \
        --constraint constraints.txt platformdirs filelock tomlkit pydantic pydantic-core \
        annotated-types typing-inspection typing-extensions typer rich click shellingham \
        markdown-it-py mdurl pygments jinja2 markupsafe jaxtyping wadler-lindig safetensors \
        pytest hypothesis pluggy iniconfig packaging sortedcontainers
fi
site=$(mktemp -d)
for wheel in build/wheels/*.whl; do
    [ -e "$wheel" ] || continue
    # The top folder of a wheel is what it is imported as; a wheel with files alone has one there.
    name=$("$python" -c 'import sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
tops = [n.partition("/")[0] for n in names if ".dist-info" not in n and ".data" not in n]
print(next(t.removesuffix(".py") for t in tops if not t.startswith("_") or t == tops[-1]))' "$wheel")
    "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$name') is None)" ||
        "$python" -m zipfile -e "$wheel" "$site"
done
PYTHONUNBUFFERED=1 PYTHONPATH="src:$site" exec "$python" "$@"
