from __future__ import annotations

from pathlib import Path

from package_lines import count, import_closure


def test_lazy_imports_and_packages_count_but_imports_of_types_do_not(tmp_path: Path) -> None:
    texts = {
        "__init__.py": "",
        "errors.py": "",
        "model.py": "",
        "unused.py": "",
        "cli/__init__.py": "",
        "cli/expand.py": "if TYPE_CHECKING:\n    import taxoexpan.unused\n"
        "def run():\n    from taxoexpan import errors\n    import taxoexpan.model\n",
    }
    for name, text in texts.items():
        path = tmp_path / "src" / "taxoexpan" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = import_closure(tmp_path / "src", "taxoexpan.cli.expand")
    package = tmp_path / "src" / "taxoexpan"
    assert {str(path.relative_to(package)) for path in found} == set(texts) - {"unused.py"}
    assert count(tmp_path)["src"].split() == ["5", "in", "6"]
