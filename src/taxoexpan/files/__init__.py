"""Reading of untrusted files, and writing of outputs completely or not at all."""

from taxoexpan.files.inputs import file_digest
from taxoexpan.files.locks import temporary_folder
from taxoexpan.files.outputs import (
    STANDARD_STREAM,
    check_directory,
    check_output,
    output_lock,
    preflight,
    real_path,
    recover_output,
    refuse_inside,
    unused_name,
    whole_directory,
    whole_file,
    write_whole,
)

__all__ = [
    "STANDARD_STREAM",
    "check_directory",
    "check_output",
    "file_digest",
    "output_lock",
    "preflight",
    "real_path",
    "recover_output",
    "refuse_inside",
    "temporary_folder",
    "unused_name",
    "whole_directory",
    "whole_file",
    "write_whole",
]
