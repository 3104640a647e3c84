"""Relationship builders on made-up graphs: CPU seconds, peak memory beyond the graph's own, growth with the nodes.

`nodes` and `vectors` make the data; `python benchmarks/builders.py` prints our figures, each taken in a new process.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SYLLABLES = "an ber cor dan el fin gar hol in jor kel lan mar nor ol per quin ros sten tor ul ver wil yor zan a e o"

WORK = {
    "jaccard": (4_000, 16_000),
    "overlap": (2_000, 16_000),
    "cosine": (16_000,),
    "summary": (8_000,),
    "summary, applied": (8_000,),
}
"""What is done, and on how many nodes."""


def nodes(count: int, vocabulary: int = 20_000, seed: int = 7) -> list[dict[str, Any]]:
    """Properties of nodes with about ten entities each, drawn by Zipf's law from a vocabulary of names."""
    names = random.Random(seed)
    drawn = np.random.default_rng(seed)

    def word() -> str:
        return "".join(names.choices(SYLLABLES.split(), k=names.randint(2, 3))).capitalize()

    known = list(dict.fromkeys(" ".join(word() for _ in range(names.randint(1, 3))) for _ in range(vocabulary)))
    chance = 1 / np.arange(1, len(known) + 1)
    sizes = drawn.poisson(10, count).clip(1)
    places = drawn.choice(len(known), sizes.sum(), p=chance / chance.sum())
    lists = np.split(places, np.cumsum(sizes)[:-1])
    return [{"entities": [known[place] for place in dict.fromkeys(places.tolist())]} for places in lists]


def vectors(count: int, name: str, twins: int = 0, seed: int = 7) -> list[dict[str, Any]]:
    """Properties of nodes with random vectors of 384 numbers as lists; so many of them have a twin, with cosine 0.98.

    Of such vectors 2.5 % of the pairs have a cosine of at least 0.1, and none but the twins one of 0.9.
    """
    random = np.random.default_rng(seed)
    rows = random.standard_normal((count, 384))
    rows[count - twins :] = rows[:twins] + 0.2 * random.standard_normal((twins, 384))
    return [{name: row.tolist()} for row in rows]


def work(name: str, count: int) -> Callable[[], int]:
    """Something to be timed: it makes the relationships and returns how many there are."""
    from knotwork import KnowledgeGraph, Node, NodeType, apply_transforms
    from knotwork.transforms.relationships import overlap, similarity

    if name in ("jaccard", "overlap"):
        data = nodes(count)
        builder: Any = overlap.JaccardSimilarityBuilder() if name == "jaccard" else overlap.OverlapScoreBuilder()
    elif name == "cosine":
        data, builder = vectors(count, "embedding", twins=80), similarity.CosineSimilarityBuilder()
    else:
        data, builder = vectors(count, "summary_embedding"), similarity.SummaryCosineSimilarityBuilder()
    kg = KnowledgeGraph([Node(at, properties, NodeType.DOCUMENT) for at, properties in enumerate(data)])

    def transformed() -> int:
        return len(asyncio.run(builder.transform(kg)))

    def applied() -> int:
        apply_transforms(kg, builder)
        return len(kg.relationships)

    return applied if name.endswith("applied") else transformed


def measured(task: Callable[[], int]) -> dict[str, float]:
    """CPU seconds of all threads, the growth of the peak of memory, and the number of pairs."""
    gc.collect()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    pairs = task()
    cpu = time.process_time() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    return {"cpu_s": cpu, "mb": grown / 1024, "pairs": pairs}


def in_a_process(name: str, count: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--one", name, str(count)], check=True, capture_output=True, text=True
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("WORK", "NODES"), help="one figure, in this process, as JSON")
    arguments = parser.parse_args()
    if arguments.one:
        name, count = arguments.one
        print(json.dumps(measured(work(name, int(count)))))
        return
    print("| work | nodes | pairs | CPU s | MB | exponent |\n|---|---|---|---|---|---|")
    for name, counts in WORK.items():
        before: tuple[int, float] | None = None
        for count in counts:
            result = in_a_process(name, count)
            cpu = result["cpu_s"]
            exponent = f"{math.log(cpu / before[1]) / math.log(count / before[0]):.2f}" if before else ""
            print(
                f"| {name} | {count:,} | {result['pairs']:,} | {cpu:.2f} | {result['mb']:.0f} | {exponent} |",
                flush=True,
            )
            before = count, cpu


if __name__ == "__main__":
    main()
