"""``python -m penstock.java`` says which Java Spark gets, or why it gets none."""

from __future__ import annotations

import sys

from penstock.java import JavaUnavailable, find_runtime


def main() -> int:
    """The exit code is 0 if there is one."""
    try:
        java = find_runtime("Spark")
    except JavaUnavailable as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    sys.stdout.write(f"Java {java.version} at {java.home}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
