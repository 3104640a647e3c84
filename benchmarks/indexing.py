"""How fast a folder is indexed offline, how fast a question is answered, and what imports cost.

Each figure is taken in a process of its own: CPU seconds (user + system, all threads), wall seconds, peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUESTIONS = [
    "Who is Tiny Tim's father?",
    "Which spirits visit Scrooge, and in what order?",
    "What happens at Dulce base?",
]


def index(profile: str, texts: list[str], kb: str) -> dict[str, float]:
    """One indexing run, models loaded beforehand and counted apart."""
    from knotwork import Index, Settings
    from knotwork.models import embedder
    from knotwork.nlp import profile as load

    settings = Settings(profile=profile)  # type: ignore[arg-type]
    began = time.process_time()
    load(profile).analyse(["Ada Lovelace wrote to Charles Babbage."])
    import asyncio

    asyncio.run(embedder(profile).embed(["warm"]))
    loading = time.process_time() - began
    cpu, wall = time.process_time(), time.perf_counter()
    with Index.open(kb, settings=settings) as made:
        made.add(texts)
        counts = made.status()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    kilobytes = sum(Path(text).stat().st_size for text in texts) / 1000
    return {
        "kilobytes": kilobytes,
        "loading_cpu_s": loading,
        "cpu_s": cpu,
        "wall_s": wall,
        "kb_per_cpu_s": kilobytes / cpu,
        "kb_per_wall_s": kilobytes / wall,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "chunks": counts.chunks,
        "entities": counts.entities,
    }


def again(profile: str, texts: list[str], kb: str) -> dict[str, float]:
    """The same folder once more: nothing to do."""
    from knotwork import Index, Settings

    wall = time.perf_counter()
    with Index.open(kb, settings=Settings(profile=profile)) as made:  # type: ignore[arg-type]
        report = made.add(texts)
    return {"wall_s": time.perf_counter() - wall, "processed": report.added + report.changed}


def ask(profile: str, texts: list[str], kb: str) -> dict[str, float]:
    """Questions after the first one in a process: our own CPU, the embedder's taken off."""
    import numpy as np

    from knotwork import Index, Settings
    from knotwork.models import embedder

    class Timed:
        """The embedder, with the CPU that it takes counted apart."""

        def __init__(self) -> None:
            self.inner = embedder(profile)
            self.name, self.dimension, self.cpu = self.inner.name, self.inner.dimension, 0.0

        async def embed(self, texts: list[str]) -> np.ndarray:  # type: ignore[type-arg]
            began = time.process_time()
            made = await self.inner.embed(texts)
            self.cpu += time.process_time() - began
            return made

    model = Timed()
    with Index.open(kb, settings=Settings(profile=profile), embedder=model) as made:  # type: ignore[arg-type]
        began = time.process_time()
        made.ask(QUESTIONS[0])
        first = time.process_time() - began
        spent = []
        for question in QUESTIONS * 5:
            model.cpu, began = 0.0, time.process_time()
            made.ask(question)
            spent.append(time.process_time() - began - model.cpu)
    return {"first_question_cpu_ms": 1000 * first, "next_question_own_cpu_ms_median": 1000 * float(np.median(spent))}


def imports() -> dict[str, float]:
    """Best of five, in processes of their own."""

    def best(*command: str) -> float:
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            taken.append(time.perf_counter() - began)
        return min(taken)

    return {
        "bare_python_s": best("-c", "pass"),
        "import_knotwork_s": best("-c", "import knotwork"),
        "import_Index_s": best("-c", "from knotwork import Index"),
        "knotwork_help_s": best("-m", "knotwork", "--help"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="../shared/data", help="the folder with christmas_carol and dulce")
    parser.add_argument("--out", default="benchmarks/results/indexing.json")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    texts = [str(Path(arguments.data, name)) for name in ("christmas_carol/book.txt", "dulce/operation_dulce.md")]
    if arguments.step:
        step, profile, kb = arguments.step
        print(json.dumps({"index": index, "again": again, "ask": ask}[step](profile, texts, kb)))
        return
    results: dict[str, object] = {"imports": imports()}
    for profile in ("fast", "nlp"):
        with tempfile.TemporaryDirectory() as folder:
            for step in ("index", "again", "ask"):
                command = [sys.executable, __file__, "--data", arguments.data, "--step", step, profile, f"{folder}/kb"]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                results[f"{profile} {step}"] = json.loads(done.stdout.splitlines()[-1])
    Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
