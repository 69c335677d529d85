"""Look up known vulnerabilities of pinned versions with pip-audit, which `make audit` installs.

pip-audit skips versions that its source does not know, and then finds no vulnerabilities. This
script counts them, and succeeds only if every version was looked up:

    python tools/audit_versions.py constraints.txt
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

PIP_AUDIT = (sys.executable, "-m", "pip_audit")
OPTIONS = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json")


class AuditError(Exception):
    """pip-audit wrote no report."""


@dataclass(frozen=True)
class Audit:
    """The names of all packages, those that were skipped, and one line per vulnerability."""

    names: tuple[str, ...]
    skipped: tuple[str, ...]
    vulnerabilities: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every version was looked up, and none has a known vulnerability."""
        return bool(self.names) and not self.skipped and not self.vulnerabilities

    def __str__(self) -> str:
        """Return the vulnerabilities, and then how many versions were looked up."""
        known = len(self.names) - len(self.skipped)
        found = len(self.vulnerabilities)
        lines = [*self.vulnerabilities]
        lines.append(f"{known} of {len(self.names)} versions looked up: {found} vulnerabilities")
        if self.skipped and not known:
            lines.append(
                "the package index has no data about vulnerabilities, or cannot be reached; "
                "run make audit again with access to PyPI"
            )
        elif self.skipped:
            lines.append(f"not looked up: {', '.join(self.skipped)}")
        return "\n".join(lines)


def read_report(report: Path) -> Audit:
    """Read the JSON that pip-audit writes."""
    packages = json.loads(report.read_text(encoding="utf-8"))["dependencies"]
    return Audit(
        tuple(package["name"] for package in packages),
        tuple(package["name"] for package in packages if "skip_reason" in package),
        tuple(
            f"{package['name']} {package['version']}: {found['id']}, "
            f"fixed in {', '.join(found['fix_versions']) or 'no version'}"
            for package in packages
            for found in package.get("vulns", ())
        ),
    )


def audit(pins: Path, command: tuple[str, ...] = PIP_AUDIT) -> Audit:
    """Look up the versions in a file of pins."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        arguments = [*command, "--requirement", str(pins), *OPTIONS, "--output", str(report)]
        run = subprocess.run(arguments, check=False, capture_output=True, text=True)
        if not report.exists():
            reason = (run.stderr.strip() or f"exit status {run.returncode}").splitlines()[-1]
            raise AuditError(f"pip-audit wrote no report; it needs access to PyPI: {reason}")
        return read_report(report)


def main() -> None:
    """Print the vulnerabilities, and fail if there are some or versions were not looked up."""
    parser = argparse.ArgumentParser(description="Look up known vulnerabilities.")
    parser.add_argument("pins", type=Path, metavar="FILE", help="versions, as NAME==VERSION")
    try:
        result = audit(parser.parse_args().pins)
    except AuditError as error:
        sys.exit(str(error))
    print(result)
    sys.exit(0 if result.passed else 1)


if __name__ == "__main__":
    main()
