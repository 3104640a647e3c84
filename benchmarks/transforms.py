"""Transforms, splitter and prompt builder against ragas, haystack and graphragzen: `make bench-peers`.

Both sides get the same input, each in a process of its own, one after the other; what they found is compared. CPU
seconds are those of the work alone, all threads, loading and making the input left out. "extra MB" is the memory at its
peak above what was in use when the work began.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import builders
import numpy as np
import peers
import prompts
import splitting

Figures = dict[str, Any]

# -- input ----------------------------------------------------------------------------------------


def entities(nodes: int) -> list[list[str]]:
    return [node["entities"] for node in builders.nodes(nodes)]


def rows(nodes: int, twins: int = 0) -> np.ndarray[Any, Any]:
    return np.array([node["embedding"] for node in builders.vectors(nodes, "embedding", twins)])


# -- our side, a case a process -------------------------------------------------------------------


def _built(builder: Any, name: str, values: list[Any], type: str, output: Path) -> Figures:
    from knotwork import KnowledgeGraph, Node

    kg = KnowledgeGraph([Node(at, {name: value}, type) for at, value in enumerate(values)])
    links, figures = peers.measured(lambda: asyncio.run(builder.transform(kg)))
    scores = [next(value for value in link.properties.values() if isinstance(value, float | int)) for link in links]
    found = [(link.source.id, link.target.id, score) for link, score in zip(links, scores, strict=True)]
    peers.save_pairs(output, found)
    return {**figures, "nodes": len(values), "pairs": len(found)}


def jaccard(source: Path, output: Path) -> Figures:
    from knotwork.transforms import JaccardSimilarityBuilder

    return _built(JaccardSimilarityBuilder(), "entities", peers.lists(source), "chunk", output)


def overlap(source: Path, output: Path) -> Figures:
    from knotwork.transforms import OverlapScoreBuilder

    return _built(OverlapScoreBuilder(), "entities", peers.lists(source), "chunk", output)


def cosine(source: Path, output: Path) -> Figures:
    from knotwork.transforms import CosineSimilarityBuilder

    return _built(CosineSimilarityBuilder(), "embedding", peers.vectors(source), "chunk", output)


def summary_cosine(source: Path, output: Path) -> Figures:
    from knotwork.transforms import SummaryCosineSimilarityBuilder

    return _built(SummaryCosineSimilarityBuilder(), "summary_embedding", peers.vectors(source), "document", output)


def _extracted(extractor: Any, texts: list[str], output: Path) -> Figures:
    from knotwork import KnowledgeGraph, Node, apply_transforms

    apply_transforms(KnowledgeGraph([Node(0, {"page_content": texts[0]})]), [extractor])
    kg = KnowledgeGraph([Node(at, {"page_content": text}) for at, text in enumerate(texts)])
    _, figures = peers.measured(lambda: apply_transforms(kg, [extractor]))
    output.write_text(json.dumps([dict(node.properties) for node in kg.nodes]), encoding="utf-8")
    return {**figures, "calls": len(texts), "us_per_call": 1e6 * figures["cpu_s"] / len(texts)}


def engine(source: Path, output: Path) -> Figures:
    from knotwork import Node
    from knotwork.transforms import Extractor

    @dataclass
    class Free(Extractor):
        property_name: str = "free"

        async def extract(self, node: Node) -> tuple[str, Any]:
            return self.property_name, 1

    return _extracted(Free(), peers.lists(source)[0], output)


def llm_extractor(source: Path, output: Path) -> Figures:
    from knotwork.protocols import Reply
    from knotwork.transforms import SummaryExtractor

    class Free:
        async def complete(self, messages: Any, *, schema: Any = None, max_tokens: int | None = None) -> Reply:
            return Reply("A summary.")

    return _extracted(SummaryExtractor(llm=Free()), peers.lists(source)[0], output)


def parallel(source: Path, output: Path) -> Figures:
    """Three extractors on each node, all that wait 50 ms, sixteen at a time."""
    from knotwork import KnowledgeGraph, Node, Parallel, RunConfig, apply_transforms
    from knotwork.transforms import Extractor

    @dataclass
    class Slow(Extractor):
        property_name: str = ""

        async def extract(self, node: Node) -> tuple[str, Any]:
            await asyncio.sleep(0.05)
            return self.property_name, 1

    kg = KnowledgeGraph([Node(at) for at in range(1000)])
    members = [Slow(name, property_name=name) for name in ("a", "b", "c")]
    config = RunConfig(max_workers=16)
    _, figures = peers.measured(lambda: apply_transforms(kg, [Parallel(*members)], config))
    ideal = 3 * 1000 * 0.05 / 16
    output.write_text("[]", encoding="utf-8")
    return {**figures, "ideal_s": ideal, "of_ideal": figures["wall_s"] / ideal}


def splitter(source: Path, output: Path) -> Figures:
    from knotwork import Document
    from knotwork.transforms import EmbeddingBasedDocumentSplitter

    text, model = source.read_text(encoding="utf-8"), peers.uneven_embedder()
    made = EmbeddingBasedDocumentSplitter(document_embedder=model)
    made.warm_up()
    made.run([Document("One is here. Two is there. Three.")])
    model.calls = model.characters = 0
    splits, figures = peers.measured(lambda: made.run([Document(text)])["documents"])
    output.write_text(json.dumps([split.text for split in splits]), encoding="utf-8")
    return {**figures, "embedder_calls": model.calls, "embedded_share": model.characters / len(text)}


def prompt_builder(source: Path, output: Path) -> Figures:
    made = peers.prompt_inputs(source)
    build = prompts.ours(made)
    ms = prompts.cpu_ms(build, made.queries)
    peers.save_prompts(output, build, made.queries)
    return {"cpu_s": ms / 1000, "ms_per_prompt": ms}


OURS: dict[str, Callable[[Path, Path], Figures]] = {
    case.__name__: case
    for case in (
        jaccard, overlap, cosine, summary_cosine, engine, llm_extractor, parallel, splitter, prompt_builder,
    )
}  # fmt: skip


# -- both, and what they found --------------------------------------------------------------------


@dataclass
class Bench:
    """Where inputs and outputs lie, and whose Python runs the peers."""

    folder: Path
    python: str

    def source(self, name: str, content: Any) -> Path:
        path = self.folder / name
        if isinstance(content, np.ndarray):
            path = path.with_suffix(".npz")
            np.savez(path, vectors=content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def ours(self, case: str, source: Path) -> tuple[Figures, Path]:
        output = self.folder / f"{case}.ours{_suffix(case)}"
        return self._run([sys.executable, __file__, "--ours", case, str(source), str(output)]), output

    def theirs(self, case: str, source: Path) -> tuple[Figures, Path]:
        output = self.folder / f"{case}.theirs{_suffix(case)}"
        return self._run([self.python, peers.__file__, case, str(source), str(output)]), output

    def _run(self, command: list[str]) -> Figures:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        found: Figures = json.loads(done.stdout.splitlines()[-1])
        return found

    def both(self, case: str, source: Path, compare: Callable[[Path, Path], Figures]) -> Figures:
        mine, my_output = self.ours(case, source)
        theirs, their_output = self.theirs(case, source)
        return {"ours": mine, "theirs": theirs, "results": compare(my_output, their_output)}


def _suffix(case: str) -> str:
    return ".npz" if case in ("jaccard", "overlap", "cosine", "summary_cosine") else ".json"


def same_pairs(mine: Path, theirs: Path) -> Figures:
    """How far two sets of scored pairs agree."""
    a, b = (dict(zip(map(tuple, data["ends"]), data["scores"], strict=True)) for data in map(np.load, (mine, theirs)))
    both = a.keys() & b.keys()
    return {
        "pairs": len(both),
        "only_ours": len(a) - len(both),
        "only_theirs": len(b) - len(both),
        "largest_difference": max((abs(float(a[pair] - b[pair])) for pair in both), default=0.0),
    }


def same_values(mine: Path, theirs: Path) -> Figures:
    a, b = (json.loads(path.read_text(encoding="utf-8")) for path in (mine, theirs))
    return {"of": len(a), "equal": sum(one == other for one, other in zip(a, b, strict=True))}


def same_text(text: str) -> Callable[[Path, Path], Figures]:
    """Splits are not compared (sentences and order of the steps differ); what was promised of them is."""

    def compare(mine: Path, theirs: Path) -> Figures:
        found: Figures = {}
        for side, path in (("ours", mine), ("theirs", theirs)):
            splits = json.loads(path.read_text(encoding="utf-8"))
            found[side] = {
                "splits": len(splits),
                "lossless": "".join(splits) == text,
                "over_max_length": sum(len(split) > 1000 for split in splits),
                "below_min_length": sum(len(split) < 50 for split in splits),
            }
        return found

    return compare


def same_context(mine: Path, theirs: Path) -> Figures:
    """In how many prompts the lines of a section are the same, in any order."""
    a, b = (json.loads(path.read_text(encoding="utf-8")) for path in (mine, theirs))
    kinds: dict[str, Callable[[str], bool]] = {
        "entities": lambda line: "): " in line and " <-> " not in line,
        "relationships": lambda line: " <-> " in line,
        "sources": lambda line: line.count(" ") == 99,  # as many words as prompts.py gives a source
    }
    pairs = list(zip(a, b, strict=True))
    equal = {kind: sum(_lines(x, keep) == _lines(y, keep) for x, y in pairs) for kind, keep in kinds.items()}
    return {"of": len(pairs), **equal}


def _lines(prompt: str, keep: Callable[[str], bool]) -> set[Any]:
    """Those to keep, a relationship the same whichever end comes first. The peer's headers may end a line."""
    found: set[Any] = set()
    for line in filter(keep, prompt.replace("-----------", "\n").splitlines()):
        ends, said, text = line.partition(": ")
        found.add((frozenset(ends.split(" <-> ")), text) if said and " <-> " in ends else line)
    return found


def exponent(sizes: list[int], figures: list[Figures]) -> float:
    """Of the power of the size by which CPU time grows."""
    return float(np.polyfit(np.log(sizes), np.log([figure["cpu_s"] for figure in figures]), 1)[0])


# -- the table ------------------------------------------------------------------------------------


def jaccard_row(bench: Bench) -> Figures:
    made = bench.both("jaccard", bench.source("jaccard", entities(4000)), same_pairs)
    return made | _growth(bench, "jaccard", [4000, 8000, 16_000])


def overlap_row(bench: Bench) -> Figures:
    made = bench.both("overlap", bench.source("overlap", entities(2000)), same_pairs)
    return made | _growth(bench, "overlap", [2000, 4000, 8000])


def _growth(bench: Bench, case: str, sizes: list[int]) -> Figures:
    found = [bench.ours(case, bench.source(f"{case}-{size}", entities(size)))[0] for size in sizes]
    return {"sizes": dict(zip(map(str, sizes), found, strict=True)), "exponent": exponent(sizes, found)}


def cosine_row(bench: Bench) -> Figures:
    return bench.both("cosine", bench.source("cosine", rows(16_000, twins=80)), same_pairs)


def summary_cosine_row(bench: Bench) -> Figures:
    return bench.both("summary_cosine", bench.source("summary", rows(8000)), same_pairs)


def engine_row(bench: Bench) -> Figures:
    return bench.both("engine", bench.source("engine", [["A text."] * 15_000]), same_values)


def llm_extractor_row(bench: Bench) -> Figures:
    texts = [f"Text {number}. " + "It says one thing and another. " * 10 for number in range(3000)]
    return bench.both("llm_extractor", bench.source("llm", [texts]), same_values)


def parallel_row(bench: Bench) -> Figures:
    return {"ours": bench.ours("parallel", bench.source("parallel", "[]"))[0]}


def splitter_row(bench: Bench) -> Figures:
    sizes = [10_000, 100_000, 1_000_000]
    text = splitting.prose(sizes[-1])
    made = bench.both("splitter", bench.source("prose", text), same_text(text))
    found = [bench.ours("splitter", bench.source(f"prose-{size}", splitting.prose(size)))[0] for size in sizes]
    return {**made, "sizes": dict(zip(map(str, sizes), found, strict=True)), "exponent": exponent(sizes, found)}


def prompt_builder_row(bench: Bench) -> Figures:
    small = {"nodes": 10_000, "edges": 50_000, "sources": 10_000}
    made = bench.both("prompt_builder", bench.source("graph", small), same_context)
    large = bench.source("large", {key: 5 * value for key, value in small.items()})
    return {**made, "ours_at_50000_nodes": bench.ours("prompt_builder", large)[0]}


ROWS: dict[str, Callable[[Bench], Figures]] = {
    "Jaccard, 4,000 nodes": jaccard_row,
    "Overlap (Jaro-Winkler), 2,000 nodes": overlap_row,
    "Cosine, 16,000 x 384, 80 pairs": cosine_row,
    "SummaryCosine, 8,000 x 384, 0.8 million pairs": summary_cosine_row,
    "engine, 15,000 free calls": engine_row,
    "engine, 3 extractors x 1,000 nodes x 50 ms, 16 at once": parallel_row,
    "LLM extractor, 3,000 replies at once": llm_extractor_row,
    "semantic splitter, 1 MB": splitter_row,
    "build_prompt, 10,000 nodes": prompt_builder_row,
}


def shown(name: str, row: Figures) -> str:
    mine, theirs = row["ours"], row.get("theirs")
    said = f"{name}: {_time(mine)}"
    if theirs:
        said += f", peer {_time(theirs)}: {theirs['cpu_s'] / mine['cpu_s']:.1f}x"
        if "extra_mb" in mine:
            said += f"; extra {mine['extra_mb']:.0f} MB, peer {theirs['extra_mb']:.0f} MB"
    if "exponent" in row:
        said += f"; exponent {row['exponent']:.2f}"
    if "of_ideal" in mine:
        said += f"; {mine['of_ideal']:.3f} x the ideal {mine['ideal_s']:.2f} s"
    for key in ("embedder_calls", "embedded_share"):
        if theirs and key in mine:
            said += f"; {key} {mine[key]:.4g}, peer {theirs[key]:.4g}"
    return f"{said}\n    {json.dumps(row['results'])}" if "results" in row else said


def _time(figures: Figures) -> str:
    cpu = figures["cpu_s"]
    said = f"{cpu:.3g} CPU-s" if cpu >= 0.1 else f"{1000 * cpu:.3g} CPU-ms"
    return f"{said} ({figures['us_per_call']:.1f} µs a call)" if "us_per_call" in figures else said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=os.environ.get("KNOTWORK_PEERS", sys.executable), help="the peers' Python")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--out", default="benchmarks/results/transforms.json")
    parser.add_argument("--ours", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ours:
        case, source, output = arguments.ours
        print(json.dumps(OURS[case](Path(source), Path(output))))
        return
    out = Path(arguments.out)
    results = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name, row in ROWS.items():
            if arguments.only in name:
                began = time.perf_counter()
                results[name] = row(Bench(Path(folder), arguments.peers))
                print(shown(name, results[name]), f"[{time.perf_counter() - began:.0f} s]", flush=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
