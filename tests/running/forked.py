"""Python processes with numba loaded: forked from one that has compiled nothing, since importing numba is slow."""

import json
import os
import subprocess
import sys
from functools import cache

SERVER = """
import json, os, runpy, sys, traceback
from concurrent.futures import ThreadPoolExecutor
import numba.core.event, numba.cpython.builtins
from numba.core.registry import cpu_target
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
sys.dont_write_bytecode = True  # sources are edited within a second

def run(command, environment):
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    sys.argv = command[1:] if command[0] == "-c" else command
    if command[0] == "-c":
        exec(compile(command[1], "<string>", "exec"), sys.modules["__main__"].__dict__)
    else:
        runpy.run_path(command[0], run_name="__main__")

for line in sys.stdin:
    pipes = [os.pipe() for _ in range(2)]
    if not (child := os.fork()):
        status = 1
        try:
            for stream, (_, end) in enumerate(pipes, 1):
                os.dup2(end, stream)
            run(*json.loads(line))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    for _, end in pipes:
        os.close(end)
    with ThreadPoolExecutor() as pool:  # at the same time: a child that fills one pipe does not block
        outputs = list(pool.map(lambda pipe: open(pipe[0]).read(), pipes))
    print(json.dumps([os.waitpid(child, 0)[1], *outputs]), flush=True)
"""


@cache
def _server() -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def end() -> None:
    """Ends the server process, if it runs; its processor time counts from here on."""
    if _server.cache_info().currsize:
        _server().communicate()
        _server.cache_clear()


def ran(*command: str, **environment: str) -> tuple[str, str]:
    """Returns the stripped output of `python COMMAND` and its standard error; `environment` includes PYTHONPATH."""
    if sys.platform == "win32":
        done = subprocess.run(
            [sys.executable, *command], env={**os.environ, **environment}, capture_output=True, text=True
        )
        status, out, error = done.returncode, done.stdout, done.stderr
    else:
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps([command, environment]), file=server.stdin, flush=True)
        status, out, error = json.loads(server.stdout.readline())
    assert status == 0, error
    return out.strip(), error
