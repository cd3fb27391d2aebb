"""`python tests/fuzz_gates.py --events 20000`: random calls, decided by hooks and reference."""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).resolve().parent),
    str(Path(__file__).resolve().parents[1] / "server"),
]

from _gate_compare import by_import, by_process, compare  # noqa: E402 - after the path it is found on


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--seed", default=os.environ.get("PREREAD_SEED", "1"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--imported", action="store_true", help="the library in this process, in place of the hooks"
    )
    given = parser.parse_args()
    began = time.monotonic()
    how = by_import if given.imported else by_process
    count, differences = compare(
        given.seed, given.events, how, 1 if given.imported else given.workers
    )
    for difference in differences[:50]:
        sys.stdout.write(f"{difference}\n\n")
    sys.stdout.write(
        f"seed {given.seed}: {count} events, {len(differences)} differences, "
        f"{time.monotonic() - began:.0f} s\n"
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
