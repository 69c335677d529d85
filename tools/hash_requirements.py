"""Write the versions of constraints.txt with the hashes of their files; `make hashes` calls this.

torch has two builds, of which a file for pip can name only one: `requirements-hashed-cpu.txt` and
`requirements-hashed-cuda.txt` both include `requirements-hashed.txt`, which has all other packages.

uv takes the versions and hashes from the package index, for all platforms. PyPI has torch for Linux
only with NVIDIA's libraries, so `packaging/torch-cpu.sha256` lists the builds for CPUs with their
hashes, as `sha256sum` prints them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
CPU_HASHES = ROOT / "packaging" / "torch-cpu.sha256"
UV = [
    *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--all-extras"),
    # The oldest Python that all pinned versions allow.
    *("--python-version", "3.11.5", "--generate-hashes", "--no-header", "--no-annotate"),
]
BASE = "requirements-hashed.txt"
INSTALL = "written by make hashes. Install with:\n# pip install --require-hashes -r"
HEADERS = {
    BASE: "# constraints.txt without torch, with hashes; one of the other two files includes it.\n",
    "requirements-hashed-cpu.txt": (
        f"# All packages, with torch for CPUs; {INSTALL} requirements-hashed-cpu.txt\n-r {BASE}\n"
    ),
    "requirements-hashed-cuda.txt": (
        f"# All packages, with torch for NVIDIA GPUs on Linux; {INSTALL} "
        f"requirements-hashed-cuda.txt\n-r {BASE}\n"
    ),
}


def main() -> None:
    """Compile the requirements with uv, and write all files."""
    constraints = ROOT / "constraints.txt"
    with TemporaryDirectory() as folder:
        compiled = Path(folder) / "compiled.txt"
        command = [*UV, "-c", str(constraints), "-o", str(compiled), str(ROOT / "pyproject.toml")]
        subprocess.run(command, check=True)
        text = compiled.read_text(encoding="utf-8")
    texts = hashed_requirements(
        text, constraints.read_text(encoding="utf-8"), CPU_HASHES.read_text(encoding="utf-8")
    )
    for (name, header), content in zip(HEADERS.items(), texts, strict=True):
        (ROOT / name).write_text(header + content, encoding="utf-8")


def hashed_requirements(compiled: str, constraints: str, cpu_hashes: str) -> tuple[str, str, str]:
    """Split uv's output into packages for all, torch for CPUs, and torch for GPUs.

    `cpu_hashes` are lines of `sha256sum`.
    """
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)", constraints, flags=re.MULTILINE))
    known = {normalized(name) for name in pins} - {"torch"}
    common, for_gpus = [], []
    for entry in re.split(r"\n(?=\w)", compiled.strip()):
        if normalized(entry.partition("==")[0]) in known:
            common.append(entry)
        elif "sys_platform == 'emscripten'" not in entry:  # a browser cannot run torch
            for_gpus.append(entry)
    for_cpus = _torch_for_cpus(cpu_hashes, pins["torch"])
    return "\n".join(common) + "\n", for_cpus, "\n".join(for_gpus) + "\n"


def normalized(name: str) -> str:
    """Return a package's name as package indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _torch_for_cpus(cpu_hashes: str, version: str) -> str:
    """Return the requirement of torch with the listed hashes, which must be of this version."""
    lines = [f"torch=={version}"]
    for line in cpu_hashes.splitlines():
        sha256, wheel = line.split()
        if not wheel.startswith((f"torch-{version}+cpu-", f"torch-{version}-")):
            sys.exit(f"{CPU_HASHES.name}: {wheel} is not torch {version}; list its builds for CPUs")
        lines.append(f"    --hash=sha256:{sha256}")
    return " \\\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
