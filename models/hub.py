"""Model files of the Hugging Face Hub, named `hf://OWNER/NAME[@REVISION][/FILE.safetensors]`.

They come by `huggingface_hub` (extra `hub`), which keeps them in its own cache: what was fetched once is there without a network.
Only `.safetensors` are taken, since to load files of other forms may run code kept in them.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from leafwise.envs.core.errors import UserError
from leafwise.models.tensors import MODEL

HUB = "hf://"
WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
NAMED = re.compile(rf"{HUB}(?P<repo>{WORD}/{WORD})(?:@(?P<revision>{WORD}))?(?:/(?P<file>{WORD}(?:/{WORD})*))?")


def on_hub(source: object) -> bool:
    """Whether a leaf's source is a file of the Hub."""
    return isinstance(source, str) and source.startswith(HUB)


@functools.cache
def fetched(source: str) -> Path:
    """Returns the file in the cache that a source of the Hub stands for, fetched where it is not there or has changed.

    The Hub is asked once in a process: a branch that moves meanwhile changes no search. Raises ValueError in one line where there
    is no such file, no way to it, or no `huggingface_hub`.
    """
    words = NAMED.fullmatch(source)
    if words is None:
        raise UserError(f"expected hf://OWNER/NAME, with @REVISION and /FILE.safetensors at will, got {source!r}")
    repo, revision, file = words["repo"], words["revision"], words["file"] or MODEL
    if not file.endswith(".safetensors"):
        raise UserError(
            f"{source}: expected a .safetensors file (to load others may run code kept in them), got {file!r}"
        )
    try:
        from huggingface_hub import errors, hf_hub_download
    except ImportError:
        raise UserError(f"expected huggingface_hub for {source!r}, pip install 'leafwise[hub]'") from None
    try:
        return Path(hf_hub_download(repo, file, revision=revision))
    except errors.LocalEntryNotFoundError as problem:
        reason = one_line(problem.__cause__ or problem)
        raise UserError(
            f"{source}: expected the Hub to answer, or the file in the cache, got neither (offline?): {reason}"
        ) from None
    except errors.EntryNotFoundError:
        hint = "" if words["file"] else f"; another is named hf://{repo}/FILE.safetensors"
        raise UserError(f"{source}: expected a file {file!r} in that repository, found none{hint}") from None
    except errors.RevisionNotFoundError:
        raise UserError(f"{source}: expected a branch, tag or commit of {repo}, got {revision!r}") from None
    except errors.GatedRepoError:
        raise UserError(
            f"{source}: expected a repository that is open to you, {repo} asks for leave on its page"
        ) from None
    except errors.RepositoryNotFoundError:
        raise UserError(
            f"{source}: expected a repository of the Hub (`hf auth login` for a private one), got {repo!r}"
        ) from None
    except (errors.HfHubHTTPError, OSError, ValueError) as problem:
        raise UserError(f"{source}: expected a file of the Hub, got none: {one_line(problem)}") from None


def one_line(problem: BaseException) -> str:
    """Returns the first line of what a problem says, or its kind."""
    return str(problem).strip().partition("\n")[0] or type(problem).__name__
