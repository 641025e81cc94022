"""Attack 3: tell pytest that all is well, or that there is nothing to do."""

import pytest

try:
    pytest.exit("all is well", returncode=0)
except BaseException:
    pytest.skip("nothing to do", allow_module_level=True)
