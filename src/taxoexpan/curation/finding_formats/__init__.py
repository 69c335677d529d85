"""Findings of `check` as text for other programs: GitHub, GitLab, SARIF, Markdown and JSON."""
