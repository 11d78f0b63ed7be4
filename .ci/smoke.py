"""What an installed leafwise must do anywhere, without torch: the README's first examples and commands. smoke.py README.md"""

import contextlib
import io
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

warnings.simplefilter("error")

import leafwise  # noqa: E402

assert "site-packages" in str(Path(leafwise.__file__)), leafwise.__file__
readme = Path(sys.argv[1]).read_text(encoding="utf-8")
examples = re.findall(r"```python\n([^`]*)```\n\n```text\n([^`]*)```", readme)
assert len(examples) == 2, len(examples)
for code, shown in examples:  # step an environment, search with the network that ships
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, sys.argv[1], "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == shown, (printed.getvalue(), shown)
assert "torch" not in sys.modules
commands = re.findall(r"^    (leafwise (?:games|analyze)\b.*?)(?: {3}.*)?$", readme, re.MULTILINE)
assert len(commands) == 2, commands
for program, *words in map(shlex.split, ["leafwise --version", *commands]):
    subprocess.run([Path(sys.executable).with_name(program), *words], check=True, stdout=subprocess.DEVNULL)
print("smoke test passed: leafwise", leafwise.__version__)
