"""What the checks of lab 16 read in a manifest and a Dockerfile."""

import pytest

from converge.grader.checks.manifests import (
    hands_over,
    mounts_a_token,
    number_of_bytes,
    objects_in,
    script_at,
    sleep_before_stop,
    starts_a_shell,
)
from converge.testing.objects.manifests import ManifestError

SHELL = "#!/bin/sh\nset -eu\n"


def judged(name, dockerfile):
    script = script_at(name, dockerfile)
    return None if script is None else starts_a_shell(script) and not hands_over(script)


@pytest.mark.parametrize(
    ("text", "shell"),
    [
        ("RUN printf '#!/bin/sh\\npython /app/ship.py\\n' > start && chmod 755 start", True),
        ("RUN printf '#!/bin/sh\\nexec python /app/ship.py\\n' > start", False),
        ("RUN echo '#!/usr/bin/env bash' > /app/start \\\n && echo 'python ship.py' >> /app/start", True),
        ("RUN echo '#!/bin/sh' > start\nRUN echo 'exec python ship.py' >> start", False),
        ("RUN printf '#!/bin/sh\\nexec 2>&1\\npython ship.py\\n' | tee /app/start", True),
        ("RUN printf '#!/bin/sh\\ntrap stop TERM\\npython ship.py & wait\\n' > start", False),
        ("RUN printf '#!/usr/bin/env python3\\nimport ship\\n' > start", False),
        (f"COPY --chmod=755 <<EOF /app/start\n{SHELL}python ship.py\nEOF\nUSER 1000", True),
        (f"COPY <<'EOF' /app/start\n{SHELL}exec python ship.py\nEOF\nUSER 1000", False),
        (f"RUN cat <<-EOF > start\n{SHELL}python ship.py\nEOF\nRUN echo exec all", True),
        ("RUN printf '#!/bin/sh\\npython ship.py\\n' > starter", None),
        ("COPY somewhere/start /app/start", None),
        ("# RUN printf '#!/bin/sh\\npython ship.py\\n' > start", None),
    ],
)
def test_a_start_script_that_the_dockerfile_writes(tmp_path, text, shell):
    (tmp_path / "Dockerfile").write_text(f'FROM python:3.13\n{text}\nENTRYPOINT ["/app/start"]\n')
    assert judged("/app/start", tmp_path / "Dockerfile") is shell


@pytest.mark.parametrize(("last", "shell"), [("python ship.py", True), ("exec python ship.py", False)])
def test_a_start_script_beside_the_dockerfile(tmp_path, last, shell):
    (tmp_path / "Dockerfile").write_text("FROM python:3.13\nCOPY labs/16_ship/ /app/\n")
    (tmp_path / "start.sh").write_text(f"{SHELL}{last}\n")
    (tmp_path / "ship.py").write_text("import os\n")
    assert judged("./start.sh", tmp_path / "Dockerfile") is shell
    assert judged("ship.py", tmp_path / "Dockerfile") is None
    assert judged("exec /app/start.sh", tmp_path / "Dockerfile") is None


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ("64Mi", 64 << 20),
        ("64m", 0.064),
        ("256M", 256e6),
        ("1Gi", 1 << 30),
        ("1k", 1000),
        (".5Ki", 512),
        ("129e6", 129e6),
        ("1E", 1e18),
        (134217728, 1 << 27),
        ("0", 0),
    ],
)
def test_quantities_of_memory(quantity, number):
    assert number_of_bytes(quantity) == pytest.approx(number)


@pytest.mark.parametrize(
    ("hook", "seconds"),
    [
        ({}, 0),
        ({"sleep": {"seconds": 5}}, 5),
        ({"exec": {"command": ["sleep", "25"]}}, 25),
        ({"exec": {"command": ["python", "-c", "import time; time.sleep(2.5)"]}}, 2.5),
        ({"exec": {"command": ["sh", "-c", "while busy; do sleep 1; done; sleep 2m"]}}, 120),
        ({"exec": {"command": ["/bin/asleep", "25"]}}, 0),
        ({"httpGet": {"path": "/bye", "port": 8080}}, 0),
    ],
)
def test_what_a_prestop_hook_sleeps(hook, seconds):
    assert sleep_before_stop({"lifecycle": {"preStop": hook}} if hook else {}) == seconds


def multiplied(first, again, times):
    """YAML of nine lines, of which each has the one before so many times."""
    lines = (f"- &a{n + 1} {again % ', '.join([f'*a{n}'] * times)}\n" for n in range(9))
    return f"- &a0 {first}\n{''.join(lines)}"


NAMED = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}"


def test_objects_are_read_as_the_api_server_gets_them():
    listed = "{apiVersion: v1, kind: List, items: [" + NAMED + "}]}"
    text = f"{NAMED}, data: null}}\n---\n---\n{listed}\n"
    assert objects_in(text) == [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}] * 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "expected"),
        ("7", "an object has apiVersion, kind and metadata.name"),
        ("{apiVersion: v1, kind: [], metadata: {name: a}}", "an object has"),
        ("{apiVersion: v1, kind: List, items: [7]}", "an object has"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: name}", "an object has"),
        (f"{NAMED}, data: {{day: 2026-11-20}}}}", "date"),
        (f"{NAMED}, data: {{day: 2026-99-99}}}}", "month"),
        (f"{NAMED}, data: {{number: {'9' * 9000}}}}}", "digits"),
        (f"{NAMED}, data: {'[' * 2000}", "nested too deeply"),
        ("a: &a [*a]", "Circular"),
        (multiplied("[x, x]", "[%s]", 8), "larger than 256 KB"),
        (multiplied("{k: x, l: x}", "{<<: [%s]}", 40), "takes more than 1000 fields"),
    ],
)  # fmt: skip
def test_a_manifest_that_breaks_the_grader_is_refused_with_a_sentence(text, says):
    with pytest.raises(ManifestError, match=says):
        objects_in(text)


PROJECTED = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
MOUNTED = [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]


@pytest.mark.parametrize(
    ("account", "pod", "mounts", "mounted"),
    [
        ({}, {}, [], True),
        ({"automountServiceAccountToken": False}, {}, [], False),
        ({}, {"automountServiceAccountToken": False}, [], False),
        ({"automountServiceAccountToken": True}, {"automountServiceAccountToken": False}, [], False),
        ({"automountServiceAccountToken": False}, {"automountServiceAccountToken": True}, [], True),
        ({}, {"automountServiceAccountToken": False, "volumes": [PROJECTED]}, MOUNTED, True),
        ({}, {"automountServiceAccountToken": False, "volumes": [PROJECTED]}, [], False),
        ({}, {"automountServiceAccountToken": False, "volumes": [{"name": "tmp", "emptyDir": {}}]}, [], False),
    ],
)
def test_a_token_that_the_container_finds(account, pod, mounts, mounted):
    spec = {"serviceAccountName": "web", "containers": [{"name": "operator", "volumeMounts": mounts}], **pod}
    manifest = [
        {"kind": "ServiceAccount", "metadata": {"name": "web"}, **account},
        {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"spec": spec}}},
    ]
    assert mounts_a_token(manifest) is mounted
