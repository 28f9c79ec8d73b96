"""Runs a notebook, and writes it with what it showed to standard output.

A process of its own: what talks to the kernel leaves sockets to the garbage collector.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient


def main(path: str) -> None:
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(Path.cwd())}}
    with TemporaryDirectory() as folder:
        # Over files: nothing listens on a port.
        kernel = AsyncKernelManager(
            kernel_name="python3", transport="ipc", ip=str(Path(folder) / "kernel")
        )
        NotebookClient(notebook, km=kernel, timeout=250, resources=where).execute()
    nbformat.write(notebook, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
