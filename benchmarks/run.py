"""Every benchmark, one after the other: `make bench`. Raw results go to benchmarks/results/."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOPICS = ("indexing.py", "retrieval.py", "chinese.py", "parsing.py")


def main() -> None:
    data = Path("../shared/data")
    if not data.is_dir():
        sys.exit(
            f"the benchmarks measure on {data}, which is not here; name another folder: "
            "python benchmarks/indexing.py --data DIR"
        )
    for topic in TOPICS:
        print(f"== {topic}", flush=True)
        subprocess.run([sys.executable, str(Path(__file__).with_name(topic))], check=True)


if __name__ == "__main__":
    main()
