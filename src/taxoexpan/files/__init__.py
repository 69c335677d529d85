"""Files and directories that are written completely or not at all, and never over others' files."""

from taxoexpan.files.content_digest import file_digest
from taxoexpan.files.output_checks import (
    STANDARD_STREAM,
    check_output,
    preflight,
    refuse_inside,
    refuse_overwriting,
    refuse_replacing,
)
from taxoexpan.files.output_lock import output_lock
from taxoexpan.files.temporary_names import temporary_folder
from taxoexpan.files.whole_outputs import (
    recover_directory,
    whole_directory,
    whole_file,
    write_whole,
)

__all__ = [
    "STANDARD_STREAM",
    "check_output",
    "file_digest",
    "output_lock",
    "preflight",
    "recover_directory",
    "refuse_inside",
    "refuse_overwriting",
    "refuse_replacing",
    "temporary_folder",
    "whole_directory",
    "whole_file",
    "write_whole",
]
