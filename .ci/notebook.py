"""Runs the code of a notebook in this environment, which has no Jupyter, against an installed leafwise: notebook.py FILE.ipynb."""

import json
import sys
from pathlib import Path

import leafwise

assert "site-packages" in str(Path(leafwise.__file__)), leafwise.__file__
names = {"__name__": "__main__"}
for cell in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["cells"]:
    code = "".join(cell["source"])
    if cell["cell_type"] != "code" or "%pip" in code:  # the package is there
        continue
    first, _, rest = code.partition("\n")
    if first.startswith("%%writefile "):
        Path(first.split()[1]).write_text(f"{rest}\n", encoding="utf-8")
    else:
        exec(compile(code, sys.argv[1], "exec"), names)
print("notebook ran:", sys.argv[1])
