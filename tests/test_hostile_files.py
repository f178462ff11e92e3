"""Files that are spoilt in any way are refused, or hold sums of possible rows; nothing else is raised."""

import sys

import files
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def test_the_files_that_are_spoilt_are_right_before(tmp_path):
    for target in files.targets():
        path = tmp_path / target.name
        path.write_bytes(target.content)
        target.read(path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")
def test_no_spoilt_file_raises_a_raw_error(tmp_path):
    faults = [fault for fault, _ in files.faults(250, 5, tmp_path)]
    assert not faults, "\n".join(faults)
