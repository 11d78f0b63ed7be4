"""Installs leafwise by its name from a simple index (PEP 503) that this machine serves: install.py DIST PYTHON [EXTRAS].

DIST holds the wheel and the sdist, PYTHON belongs to the environment. What leafwise needs comes from the usual index.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


dist, python = Path(sys.argv[1]).resolve(strict=True), sys.argv[2]
extras = f"[{sys.argv[3]}]" if len(sys.argv) > 3 else ""
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "leafwise").symlink_to(dist)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        index = f"http://127.0.0.1:{server.server_port}/"
        report = Path(folder, "report.json")
        options = ["--quiet", "-c", "constraints.txt", "--extra-index-url", index, "--report", str(report)]
        direct = {**os.environ, "no_proxy": f"127.0.0.1,{os.environ.get('no_proxy', '')}"}
        subprocess.run([python, "-m", "pip", "install", *options, f"leafwise{extras}"], check=True, env=direct)
        server.shutdown()
    installed = json.loads(report.read_text(encoding="utf-8"))["install"]
for one in installed:
    name, url = one["metadata"]["name"], one["download_info"]["url"]
    if (name == "leafwise") != url.startswith(f"{index}leafwise/"):
        raise SystemExit(f"expected leafwise alone from {index}, got {name} from {url}")
print(f"installed leafwise{extras} by name, {len(installed)} packages")
