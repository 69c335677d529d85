"""The GitHub Action: `action.yml` runs `python -P -m taxoexpan.github run`.

- `__main__`: the start
- `inputs`: what the workflow gives, as environment variables
- `action`: runs the commands, and writes the summary, the comment and the outputs
- `commands`: check, diff and suggest, each a run of `taxoexpan` as a program of its own
- `versions`: files of the base commit, and patches, both made by git
- `comment`: the comment on the pull request
- `workflow`: annotations and outputs in the syntax of GitHub
"""
