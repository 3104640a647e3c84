"""What the peers take for the same work: one case a process, `python benchmarks/peers.py CASE INPUT OUTPUT`.

Needs the peers' environment (requirements-peers.lock) and nothing of Knotwork. INPUT is a file that transforms.py
made; the result goes to OUTPUT, the figures to standard output as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Figures = dict[str, Any]
PAGE = os.sysconf("SC_PAGE_SIZE")


def measured(work: Callable[[], Any]) -> tuple[Any, Figures]:
    """What the work gives, and CPU seconds (all threads), wall seconds, memory at its peak and above what was there."""
    before = _memory_now()
    with suppress(OSError):  # where it is not allowed: the peak since the process began
        Path("/proc/self/clear_refs").write_text("5")  # the peak from here on
    cpu, wall = time.process_time(), time.perf_counter()
    made = work()
    figures = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    peak = _peak()
    return made, {**figures, "peak_mb": peak / 1e6, "extra_mb": (peak - before) / 1e6}


def _memory_now() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def _peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def save_pairs(path: Path, pairs: list[tuple[int, int, float]]) -> None:
    """Places of two nodes and their score, in order of the places."""
    pairs.sort()
    np.savez(path, ends=np.array([pair[:2] for pair in pairs], np.int64), scores=np.array([pair[2] for pair in pairs]))


# -- ragas ----------------------------------------------------------------------------------------


def lists(source: Path) -> list[list[str]]:
    found: list[list[str]] = json.loads(source.read_text(encoding="utf-8"))
    return found


def vectors(source: Path) -> list[list[float]]:
    """As an embedding model gives them, and a file holds them."""
    found: list[list[float]] = np.load(source)["vectors"].tolist()
    return found


def _built(builder: Any, name: str, values: list[Any], type: str, output: Path) -> Figures:
    from ragas.testset.graph import KnowledgeGraph, Node

    kg = KnowledgeGraph(nodes=[Node(type=type, properties={name: value}) for value in values])
    links, figures = measured(lambda: asyncio.run(builder.transform(kg)))
    places = {node.id: at for at, node in enumerate(kg.nodes)}
    scores = [next(value for value in link.properties.values() if isinstance(value, float | int)) for link in links]
    save_pairs(
        output,
        [
            (places[link.source.id], places[link.target.id], float(score))
            for link, score in zip(links, scores, strict=True)
        ],
    )
    return {**figures, "nodes": len(values), "pairs": len(links)}


def jaccard(source: Path, output: Path) -> Figures:
    from ragas.testset.transforms.relationship_builders import JaccardSimilarityBuilder

    return _built(JaccardSimilarityBuilder(), "entities", lists(source), "chunk", output)


def overlap(source: Path, output: Path) -> Figures:
    from ragas.testset.transforms.relationship_builders import OverlapScoreBuilder

    return _built(OverlapScoreBuilder(), "entities", lists(source), "chunk", output)


def cosine(source: Path, output: Path) -> Figures:
    from ragas.testset.transforms.relationship_builders import CosineSimilarityBuilder

    return _built(CosineSimilarityBuilder(), "embedding", vectors(source), "chunk", output)


def summary_cosine(source: Path, output: Path) -> Figures:
    from ragas.testset.transforms.relationship_builders.cosine import SummaryCosineSimilarityBuilder

    return _built(SummaryCosineSimilarityBuilder(), "summary_embedding", vectors(source), "document", output)


def _extracted(extractor: Any, texts: list[str], output: Path) -> Figures:
    from ragas.testset.graph import KnowledgeGraph, Node
    from ragas.testset.transforms import apply_transforms

    few = KnowledgeGraph(nodes=[Node(properties={"page_content": text}) for text in texts[:10]])
    apply_transforms(few, [extractor])  # what is loaded at the first call
    kg = KnowledgeGraph(nodes=[Node(properties={"page_content": text}) for text in texts])
    _, figures = measured(lambda: apply_transforms(kg, [extractor]))
    output.write_text(json.dumps([node.properties for node in kg.nodes]), encoding="utf-8")
    return {**figures, "calls": len(texts), "us_per_call": 1e6 * figures["cpu_s"] / len(texts)}


def engine(source: Path, output: Path) -> Figures:
    from dataclasses import dataclass

    from ragas.testset.graph import Node
    from ragas.testset.transforms.base import Extractor

    @dataclass
    class Free(Extractor):
        property_name: str = "free"

        async def extract(self, node: Node) -> tuple[str, Any]:
            return self.property_name, 1

    return _extracted(Free(), lists(source)[0], output)


def llm_extractor(source: Path, output: Path) -> Figures:
    from dataclasses import dataclass

    from langchain_core.outputs import Generation, LLMResult
    from ragas.llms import BaseRagasLLM
    from ragas.testset.transforms.extractors import SummaryExtractor
    from ragas.tokenizers import BaseTokenizer

    reply = LLMResult(generations=[[Generation(text='{"text": "A summary."}')]])

    @dataclass
    class Free(BaseRagasLLM):
        def generate_text(self, prompt: Any, **options: Any) -> LLMResult:
            return reply

        async def agenerate_text(self, prompt: Any, **options: Any) -> LLMResult:
            return reply

        def is_finished(self, response: LLMResult) -> bool:
            return True

    class Characters(BaseTokenizer):  # its own are downloaded
        def encode(self, text: str) -> list[int]:
            return list(map(ord, text))

        def decode(self, tokens: list[int]) -> str:
            return "".join(map(chr, tokens))

    return _extracted(SummaryExtractor(llm=Free(), tokenizer=Characters()), lists(source)[0], output)


# -- haystack -------------------------------------------------------------------------------------


def splitter(source: Path, output: Path) -> Figures:
    from haystack import Document
    from haystack.components.preprocessors import EmbeddingBasedDocumentSplitter

    text = source.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        _sentence_model(text, Path(folder))
        model = uneven_embedder()
        made = EmbeddingBasedDocumentSplitter(document_embedder=model)
        made.warm_up()
        made.run(documents=[Document(content="One is here. Two is there. Three.")])
        model.calls = model.characters = 0
        splits, figures = measured(lambda: made.run(documents=[Document(content=text)])["documents"])
    contents = [split.content for split in splits]
    output.write_text(json.dumps(contents), encoding="utf-8")
    return {**figures, "embedder_calls": model.calls, "embedded_share": model.characters / len(text)}


def uneven_embedder() -> Any:
    """The free embedder of splitting.py with a little of each text's own in its vector: no two distances are alike."""
    from splitting import FreeEmbedder

    class Uneven(FreeEmbedder):
        def _row(self, text: str) -> list[float]:
            own = zlib.crc32(text.encode())
            return [value + (own >> 4 * at & 15) / 200 for at, value in enumerate(super()._row(text))]

    return Uneven()


def _sentence_model(text: str, folder: Path) -> None:
    """nltk's model of English sentences is downloaded; where it is not, one is learned from the text itself."""
    import nltk
    from nltk.tokenize.punkt import PunktTrainer, save_punkt_params

    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        nltk.data.path.insert(0, str(folder))  # it writes only where it would read
        home = folder / "tokenizers" / "punkt_tab" / "english"
        home.mkdir(parents=True)
        save_punkt_params(PunktTrainer(text[:200_000]).get_params(), str(home))


# -- graphragzen ----------------------------------------------------------------------------------


def graphragzen() -> Any:
    """Its module of the prompt builder. What it imports besides, and never calls here, are gigabytes."""
    for name in ("sentence_transformers", "qdrant_client", "qdrant_client.http.models", "qdrant_client.models"):
        sys.modules.setdefault(name, _Anything(name))
    import graphragzen.query as query

    return query


class _Anything(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def prompt_builder(source: Path, output: Path) -> Figures:
    import prompts

    made = prompt_inputs(source)
    theirs = graphragzen().PromptBuilder
    builder = theirs(prompts.NumberOfQuery(), made.vector_db, made.graph, made.source_documents, made.cluster_report)
    ms = prompts.cpu_ms(builder.build_prompt, made.queries)
    save_prompts(output, builder.build_prompt, made.queries)
    try:
        builder.build_prompt(made.queries[0], top_k_similar_entities=1)
        one = "a prompt"
    except TypeError as error:
        one = f"TypeError: {error}"
    return {"cpu_s": ms / 1000, "ms_per_prompt": ms, "of_one_hit": one}


def save_prompts(output: Path, build: Callable[..., str], queries: list[str]) -> None:
    """Without inside edges, of which graphragzen counts each twice, once from either end."""
    output.write_text(json.dumps([build(query, top_k_inside_edges=0) for query in queries]), encoding="utf-8")


def prompt_inputs(source: Path) -> Any:
    """The inputs of prompts.py with the clusters of a node as a list, which is all that graphragzen takes."""
    import prompts

    made = prompts.inputs(**json.loads(source.read_text(encoding="utf-8")))
    for _, known in made.graph.nodes(data=True):
        known["cluster"] = [known["cluster"].partition(",")[0], known["cluster"]]
    return made


CASES: dict[str, Callable[[Path, Path], Figures]] = {
    case.__name__: case
    for case in (jaccard, overlap, cosine, summary_cosine, engine, llm_extractor, splitter, prompt_builder)
}


def main() -> None:
    case, source, output = sys.argv[1:]
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    print(json.dumps(CASES[case](Path(source), Path(output))))


if __name__ == "__main__":
    main()
