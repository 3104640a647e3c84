"""What `PromptBuilder.build_prompt` costs beyond the vector search, as the graph grows.

The vector search is taken away: the embedder gives nothing, the database looks up hits that were drawn beforehand.
Needs networkx and pandas.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

QUERIES = 200
TEXT = "the river carries ore and grain past mills where engines of brass turn letters into numbers all night"
WORDS = TEXT.split()


@dataclass
class Inputs:
    """What a prompt builder is made of."""

    graph: Any
    source_documents: Any
    cluster_report: Any
    queries: list[str]
    vector_db: HitsKnown


@dataclass
class HitsKnown:
    """A vector database that has found it all already: the vector of a query is its number."""

    hits: list[list[dict[str, Any]]] = field(default_factory=list)

    def add_vectors(self, vectors: Any) -> None:
        raise NotImplementedError("the hits are known")

    def search(
        self, query_vectors: Any, k: int, score_threshold: float = 0.0, filters: Any = None
    ) -> list[list[dict[str, Any]]]:
        return [self.hits[int(vector[0])][:k] for vector in query_vectors]


class NumberOfQuery:
    """An embedding model that costs nothing."""

    vector_size = 1

    def embed(self, text: str | Sequence[str], task: str = "embed_document") -> np.ndarray[Any, Any]:
        texts = [text] if isinstance(text, str) else text
        return np.array([[float(one.rpartition(" ")[2])] for one in texts])


def inputs(nodes: int = 10_000, edges: int = 50_000, sources: int = 10_000, hits: int = 10, seed: int = 7) -> Inputs:
    """A graph of two levels of clusters, whose edges prefer nodes that have many; texts of sources; reports; queries.

    No id stands twice in one `source_id`, and no two edges of a node weigh the same, so that there are no ties.
    """
    import networkx as nx
    import pandas as pd

    draw = random.Random(seed)
    graph = nx.Graph()
    names = [f"entity {number}" for number in range(nodes)]
    chunks = [f"chunk-{number}" for number in range(sources)]
    homes = [f"{number % 20},{number // 20 % 10}" for number in range(nodes)]
    for name, home in zip(names, homes, strict=True):
        ids = "\n".join(draw.sample(chunks, draw.randint(1, 5)))
        graph.add_node(
            name, type=draw.choice(("person", "place", "work")), description=said(draw, 20), source_id=ids, cluster=home
        )
    ends = [*names]
    for weight in draw.sample(range(1, 20 * edges), edges):
        one, other = draw.choice(names), draw.choice(ends)
        while one == other or graph.has_edge(one, other):
            one, other = draw.choice(names), draw.choice(ends)
        ids = "\n".join(draw.sample(chunks, draw.randint(1, 3)))
        graph.add_edge(one, other, weight=weight, description=said(draw, 15), source_id=ids)
        ends += (one, other)
    table = pd.DataFrame({"chunk_id": chunks, "chunk": [said(draw, 100) for _ in chunks]})
    clusters = sorted({*homes, *(home.partition(",")[0] for home in homes)})
    reports = pd.DataFrame(
        {
            "cluster": clusters,
            "node_name": [names[0]] * len(clusters),
            "description": [
                {"title": f"cluster {id}", "summary": said(draw, 60), "rating": draw.randint(1, 10)} for id in clusters
            ],
        }
    )
    found = [drawn_hits(draw, graph, names, hits) for _ in range(QUERIES)]
    return Inputs(graph, table, reports, [f"query {number}" for number in range(QUERIES)], HitsKnown(found))


def drawn_hits(draw: random.Random, graph: Any, names: list[str], number: int) -> list[dict[str, Any]]:
    """Seven nodes that lie near each other, and three edges at them, in a hundred."""
    start = draw.choice(names)
    near = [start, *graph.adj[start]]
    while len(near) < number:
        near.append(draw.choice(names))
    chosen = list(dict.fromkeys(near))[: max(1, number * 7 // 10)]
    edges = list(dict.fromkeys((name, draw.choice(list(graph.adj[name]))) for name in chosen if graph.adj[name]))
    unlike = {frozenset(edge): edge for edge in edges}
    entities = [("node", name) for name in chosen] + [("edge", edge) for edge in unlike.values()][: number * 3 // 10]
    return [
        {
            "uuid": str(at),
            "score": 1 - at / 100,
            "metadata": {"entity_type": kind, "entity_name": name, "feature": "description"},
        }
        for at, (kind, name) in enumerate(entities)
    ]


def said(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words))


def cpu_ms(build: Callable[[str], str], queries: Sequence[str], repeats: int = 5) -> float:
    """CPU milliseconds a prompt: the median of the repeats, each over all queries, after one that warms up."""
    taken = []
    for _ in range(repeats + 1):
        began = time.process_time()
        for query in queries:
            build(query)
        taken.append(1000 * (time.process_time() - began) / len(queries))
    return float(np.median(taken[1:]))


def ours(made: Inputs) -> Callable[[str], str]:
    from knotwork.search import PromptBuilder

    builder = PromptBuilder(NumberOfQuery(), made.vector_db, made.graph, made.source_documents, made.cluster_report)
    return builder.build_prompt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/results/prompts.json")
    arguments = parser.parse_args()
    results: dict[str, object] = {}
    for nodes, edges, sources in ((10_000, 50_000, 10_000), (50_000, 250_000, 50_000)):
        made = inputs(nodes, edges, sources)
        build = ours(made)
        results[f"{nodes} nodes, {edges} edges, {sources} sources"] = {
            "ours_cpu_ms": cpu_ms(build, made.queries),
            "characters_of_a_prompt": float(np.mean([len(build(query)) for query in made.queries])),
        }
    Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
