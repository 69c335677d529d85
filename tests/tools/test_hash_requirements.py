"""The requirements with hashes, and the script that writes them."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
hashing = importlib.import_module("hash_requirements")
BASE, CPU, CUDA = ((ROOT / name).read_text(encoding="utf-8") for name in hashing.HEADERS)
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")
CPU_HASHES = (ROOT / "packaging" / "torch-cpu.sha256").read_text(encoding="utf-8")


def versions(text: str) -> dict[str, str]:
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", text, flags=re.MULTILINE)
    return {hashing.normalized(name): version for name, version in pins}


def hashes_of(text: str, name: str) -> set[str]:
    (entry,) = re.findall(rf"^{name}==.*\n((?: .*\n)+)", text, flags=re.MULTILINE)
    return set(re.findall(r"sha256:(\w{64})", entry))


def test_all_pinned_versions_have_hashes() -> None:
    """After a change of constraints.txt, `make hashes` writes the files again."""
    assert versions(BASE) | versions(CPU) == versions(CONSTRAINTS)
    assert versions(CUDA)["torch"] == versions(CPU)["torch"]
    for text in (BASE, CPU, CUDA):
        assert all(hashes_of(text, name) for name in re.findall(r"(?m)^([\w.-]+)==", text))


def test_only_names_versions_markers_and_hashes_are_written() -> None:
    """No package index and no folder of the machine that wrote the files."""
    requirement = re.compile(r"[\w.-]+==[\w.+!]+( ; [^\\/]+)? \\")
    others = ("# ", f"-r {hashing.BASE}")
    for text in (BASE, CPU, CUDA):
        for line in text.splitlines():
            is_hash = re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line)
            assert is_hash or requirement.fullmatch(line) or line.startswith(others), line


def test_each_build_of_torch_has_a_file_that_includes_the_other_packages() -> None:
    assert "torch" not in versions(BASE)
    for text in (CPU, CUDA):
        assert f"\n-r {hashing.BASE}\n" in text
    listed = {line.split()[1]: line.split()[0] for line in CPU_HASHES.splitlines()}
    assert hashes_of(CPU, "torch") == set(listed.values())
    # On macOS and Windows, PyPI's build is for CPUs.
    only_cpu = {sha256 for wheel, sha256 in listed.items() if "+cpu" in wheel}
    assert not only_cpu & hashes_of(CUDA, "torch")
    assert set(listed.values()) - only_cpu < hashes_of(CUDA, "torch")


def test_the_libraries_for_gpus_are_for_linux_only() -> None:
    assert versions(CUDA).keys() & versions(CONSTRAINTS).keys() == {"torch"}
    requirements = [line for line in CUDA.splitlines() if re.match(r"(?!torch==)[\w.-]+==", line)]
    assert len(requirements) > 10
    for line in requirements:
        marker = Marker(line.partition(";")[2].removesuffix("\\"))
        assert not marker.evaluate({"sys_platform": "darwin"})
        assert not marker.evaluate({"sys_platform": "win32"})


COMPILED = """\
a-b==1.0 \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
nvidia-x==3 ; sys_platform == 'linux' \\
    --hash=sha256:{a}
torch==2.0 \\
    --hash=sha256:{b}
web==1 ; sys_platform == 'emscripten' \\
    --hash=sha256:{a}
""".format(a="a" * 64, b="b" * 64)


def test_uvs_output_is_split_and_torch_for_cpus_is_added() -> None:
    wheels = ("torch-2.0+cpu-cp311-linux.whl", "torch-2.0-cp311-macosx.whl")
    listed = "".join(f"{sign * 64}  {wheel}\n" for sign, wheel in zip("cd", wheels, strict=True))
    constraints = "# note\nA_b==1.0\ntorch==2.0\n"
    common, cpu, cuda = hashing.hashed_requirements(COMPILED, constraints, listed)
    assert versions(common) == {"a-b": "1.0"}
    assert hashes_of(common, "a-b") == {"a" * 64, "b" * 64}
    assert versions(cpu) == {"torch": "2.0"}
    assert hashes_of(cpu, "torch") == {"c" * 64, "d" * 64}
    assert versions(cuda) == {"nvidia-x": "3", "torch": "2.0"}
    assert hashes_of(cuda, "torch") == {"b" * 64}


def test_builds_of_another_version_are_refused() -> None:
    listed = f"{'c' * 64}  torch-1.9+cpu-cp311-cp311-linux_x86_64.whl\n"
    with pytest.raises(SystemExit, match=r"torch-1\.9.*is not torch 2\.0"):
        hashing.hashed_requirements(COMPILED, "torch==2.0\n", listed)
