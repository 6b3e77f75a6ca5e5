#!/usr/bin/env python3
"""Makes what the Python worker needs, in .set-up/python: an environment with grpcio, and the client generated from proto/.

    python3 examples/python/set-up.py

Needs Python 3.11 or newer and the package registry that pip is set up for. A second call does nothing while neither the requirements
nor the protobuf files have changed. The folder may be deleted at any time.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = ROOT / ".set-up" / "python"
PROTO = ROOT / "proto"


def main() -> None:
    if sys.version_info < (3, 11):
        sys.exit(f"Expected Python 3.11 or newer, but this is {sys.version.split()[0]}. Run it with a newer python3.")
    script = pathlib.Path(__file__)
    sources = sorted((PROTO / "pawl" / "v1").glob("*.proto"))
    sources += [PROTO / "google" / "rpc" / name for name in ("status.proto", "error_details.proto")]
    make_if_stale(TARGET / "env", [script, HERE / "requirements.txt"], make_environment)
    make_if_stale(TARGET / "gen", [script, HERE / "requirements.txt", *sources], lambda folder: generate(folder, sources))


def make_environment(folder: pathlib.Path) -> None:
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--requirement", HERE / "requirements.txt"], check=True)
    # The generated client is found by this environment's own Python, without PYTHONPATH.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "pawl.pth").write_text(f"{TARGET / 'gen'}\n")


def generate(folder: pathlib.Path, sources: list[pathlib.Path]) -> None:
    folder.mkdir()
    flags = [f"-I{PROTO}", f"--python_out={folder}", f"--grpc_python_out={folder}"]
    python = TARGET / "env" / "bin" / "python"
    subprocess.run([python, "-m", "grpc_tools.protoc", *flags, *(str(file.relative_to(PROTO)) for file in sources)], check=True, cwd=PROTO)


def make_if_stale(folder: pathlib.Path, files: list[pathlib.Path], make: Callable[[pathlib.Path], None]) -> None:
    """Makes a folder anew, unless what it was made from is unchanged. The stamp is written last."""
    stamp_file = folder.with_suffix(".stamp")
    stamp = stamp_of(files)
    if stamp_file.exists() and stamp_file.read_text() == stamp:
        return
    stamp_file.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    make(folder)
    stamp_file.write_text(stamp)
    print(f"Made {folder.relative_to(ROOT)}.")


def stamp_of(files: list[pathlib.Path]) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


main()
