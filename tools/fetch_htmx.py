"""Fetch htmx, the script of the review pages, from the npm registry.

    python tools/fetch_htmx.py

npm downloads the package. Its minified script and its license are copied into the review package
if their checksums are the expected ones. To update htmx, change `VERSION` and `CHECKSUMS`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "2.0.11"
TARGET = Path(__file__).parents[1] / "src" / "taxoexpan" / "desk" / "review" / "static"
CHECKSUMS = {
    "package/dist/htmx.min.js": (
        "htmx.min.js",
        "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    ),
    "package/LICENSE": (
        "LICENSE.htmx",
        "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
    ),
}
"""For each file of the package: its name here, and the SHA-256 of its content."""


def main() -> None:
    """Download the package, verify the two files, and write them."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"htmx.org@{VERSION}"]
        packed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        archive = Path(folder) / packed.stdout.split()[-1]
        with tarfile.open(archive) as opened:
            contents = {name: _read(opened, name) for name in CHECKSUMS}
    for name, (_, expected) in CHECKSUMS.items():
        found = hashlib.sha256(contents[name]).hexdigest()
        if found != expected:
            sys.exit(f"{name} has the checksum {found}, not {expected}; nothing was written")
    for name, (target, _) in CHECKSUMS.items():
        (TARGET / target).write_bytes(contents[name])
        print(f"{TARGET / target}: {len(contents[name]):,} bytes")


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    """Return the content of one file of the archive."""
    file = archive.extractfile(name)
    if file is None:
        sys.exit(f"{name} is not in the package")
    return file.read()


if __name__ == "__main__":
    main()
