"""`converge watch` hears of a save, however the editor saves and whatever the disk announces."""

import os
import threading
from pathlib import Path

import pytest

from converge.cli.watch import changes
from converge.files import file_system, has_events


@pytest.mark.parametrize("poll", [False, True], ids=["events", "polling"])
@pytest.mark.parametrize("way", ["written", "replaced"])
def test_a_save_is_heard(tmp_path, poll, way):
    file = tmp_path / "lab.py"
    file.write_text("one = 1\n")
    os.utime(file, (0, 0))  # written long ago: polling sees whole seconds only
    heard = changes(file, poll)
    next(heard)  # the first grading, during which the file is saved
    if way == "written":
        file.write_text(file.read_text() + "#\n")
    else:
        new = tmp_path / "lab.py.tmp"
        new.write_text(file.read_text() + "#\n")
        new.replace(file)
    again = threading.Event()
    threading.Thread(target=lambda: (next(heard), again.set()), daemon=True).start()
    assert again.wait(20)


def test_a_file_system_has_a_name_where_it_can_be_told(tmp_path):
    assert file_system(tmp_path) or not Path("/proc/mounts").exists()


@pytest.mark.parametrize(
    ("kind", "reports"), [("ext4", True), ("apfs", True), ("nfs4", False), ("smb3", False), ("fuse.vmhgfs-fuse", False)]
)
def test_a_network_file_system_reports_no_changes(kind, reports):
    assert has_events(kind) is reports
