"""`converge notebook`: JupyterLab starts, runs a notebook with the course's kernel, and leaves nothing behind."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from converge.cli import kernel
from converge.grader import course
from converge.site import notebooks
from converge.testing.waits.deadlines import scaled

LAB = course.load().find("03")
TOKEN = "for-this-test-only"


def test_the_kernel_is_listed_where_jupyter_and_vs_code_look():
    from jupyter_client.kernelspec import KernelSpecManager

    kernel.install()
    found = KernelSpecManager().get_kernel_spec(kernel.NAME)
    assert found.argv[0] == sys.executable
    assert Path(found.resource_dir).is_relative_to(sys.prefix)


@pytest.mark.parametrize("lab", [lab for lab in course.load().labs if lab.notebook.exists()], ids=lambda lab: lab.slug)
def test_every_notebook_asks_for_the_kernel_of_the_course(lab):
    assert notebooks.read(lab.notebook).metadata.kernelspec.name == kernel.NAME


@pytest.fixture
def server(tmp_path, cluster):
    """`converge notebook 03 --no-browser`, with its own Jupyter directories: the process and its address."""
    runtime = tmp_path / "runtime"
    log = tmp_path / "jupyter.log"
    directories = {f"JUPYTER_{name.upper()}_DIR": str(tmp_path / name) for name in ("runtime", "config", "data")}
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("converge")), "notebook", "03", "--no-browser"],
            env={**os.environ, **directories, "IPYTHONDIR": str(tmp_path / "ipython"), "JUPYTER_TOKEN": TOKEN},
            cwd=LAB.root,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + scaled(60)
        while not (url := answering(runtime)):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, f"no server after a minute: {log.read_text()}"
            time.sleep(0.1)
        yield process, url, log
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def answering(runtime):
    """The address of the server that says in `runtime` where it is, once it answers there.

    Jupyter writes the file before it listens, and writes it in parts.
    """
    for facts in runtime.glob("jpserver-*.json"):
        with contextlib.suppress(OSError, ValueError):
            url = json.loads(facts.read_text())["url"]
            ask(url, "status")
            return url
    return None


def ask(url, path, body=None):
    request = urllib.request.Request(f"{url}api/{path}", headers={"Authorization": f"token {TOKEN}"})
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=60) as answer:
        return json.load(answer)


async def run_cells(url, started, cells):
    """Run `cells` as JupyterLab does, over the kernel's websocket; return all that they printed."""
    from tornado.httpclient import HTTPRequest
    from tornado.websocket import websocket_connect

    address = f"{url.replace('http', 'ws', 1)}api/kernels/{started['id']}/channels"
    socket = await websocket_connect(HTTPRequest(address, headers={"Authorization": f"token {TOKEN}"}))
    printed = []
    for source in cells:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "session": "test", "username": ""}
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
        message = {"header": {**header, "version": "5.3"}, "parent_header": {}, "metadata": {}, "content": content}
        await socket.write_message(json.dumps({**message, "channel": "shell"}))
        while True:
            answer = json.loads(await asyncio.wait_for(socket.read_message(), notebooks.TIMEOUT))
            if answer["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            if answer["msg_type"] == "stream":
                printed.append(answer["content"]["text"])
            if answer["msg_type"] == "execute_reply":
                assert answer["content"]["status"] == "ok", "\n".join(answer["content"].get("traceback", []))
                break
    socket.close()
    return "".join(printed)


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_notebook_runs_in_its_own_server_and_leaves_nothing(server, cluster):
    process, url, log = server
    before = LAB.notebook.read_text()
    path = LAB.notebook.relative_to(LAB.root).as_posix()

    content = ask(url, f"contents/{path}")["content"]
    wanted = content["metadata"]["kernelspec"]["name"]
    assert wanted in ask(url, "kernelspecs")["kernelspecs"]
    session = {"path": path, "name": LAB.notebook.name, "type": "notebook", "kernel": {"name": wanted}}
    started = ask(url, "sessions", session)["kernel"]
    cells = [cell["source"] for cell in content["cells"] if cell["cell_type"] == "code"]
    with ThreadPoolExecutor(1) as aside:  # a browser test in this process may have left its event loop running here
        printed = aside.submit(asyncio.run, run_cells(url, started, cells)).result()
    assert "60 events, 1 key" in printed

    family = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
    assert len(family) > 1, "the kernel is a process below the server"
    process.send_signal(signal.SIGTERM)
    assert process.wait(scaled(60)) is not None
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in family if psutil.pid_exists(pid)], timeout=30)
    assert not alive, f"still running after the server ended: {alive}; {log.read_text()}"
    assert LAB.notebook.read_text() == before
    assert not list(log.parent.glob("runtime/jpserver-*.json"))
    assert not list(log.parent.glob("runtime/kernel-*.json"))
