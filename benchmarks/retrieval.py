"""Recall of the passages that answer a question: the graph, beside full text, vectors and their fusion.

recall@5: share of a question's gold documents among the first five documents; all@5: share of questions with all of
them there. One setting for all sets. CPU is our own a question, the embedding taken off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from knotwork import Document, Index, Settings
from knotwork.models import embedder
from knotwork.search.passages import PassageIndex

Question = tuple[str, set[str]]


def two_hop(folder: Path) -> tuple[list[Document], list[Question]]:
    """HotpotQA and MuSiQue as their README says: gold is named by title, or by title and text."""
    corpus = json.loads((folder / "corpus.json").read_text("utf-8"))
    rows = (
        [{"title": title, "text": " ".join(text)} for title, text in corpus.items()]
        if isinstance(corpus, dict)
        else corpus
    )
    documents = [Document(row["text"], id=f"d{at:05}", title=row["title"]) for at, row in enumerate(rows)]
    by_title: dict[str, set[str]] = {}
    by_text: dict[tuple[str, str], set[str]] = {}
    for document in documents:
        by_title.setdefault(document.title, set()).add(document.key)
        by_text.setdefault((document.title, document.text[:100]), set()).add(document.key)
    questions = []
    for item in json.loads((folder / "questions.json").read_text("utf-8")):
        gold: set[str] = set()
        if "supporting_facts" in item:
            for title, _ in item["supporting_facts"]:
                gold |= by_title.get(title, set())
        else:
            for part in item["paragraphs"]:
                if part["is_supporting"]:
                    text = part.get("paragraph_text", part.get("text", ""))
                    gold |= by_text.get((part["title"], text[:100])) or by_title.get(part["title"], set())
        questions.append((item["question"], gold))
    return documents, questions


class Timed:
    """An embedder that counts the CPU it takes."""

    def __init__(self, profile: str) -> None:
        self.inner = embedder(profile)
        self.name, self.dimension, self.cpu = self.inner.name, self.inner.dimension, 0.0

    async def embed(self, texts: Any) -> Any:
        began = time.process_time()
        made = await self.inner.embed(texts)
        self.cpu += time.process_time() - began
        return made


def measure(index: PassageIndex, questions: list[Question], mode: Any, model: Timed) -> dict[str, float]:
    async def every() -> tuple[float, int]:
        found, whole = 0.0, 0
        for question, gold in questions:
            hits = await index.hits(question, 20, mode)
            first = list(dict.fromkeys(index.passages.document_ids[hit.chunk] for hit in hits))[:5]
            found += len(gold.intersection(first)) / len(gold)
            whole += gold <= set(first)
        return found, whole

    model.cpu, began = 0.0, time.process_time()
    found, whole = asyncio.run(every())
    spent = time.process_time() - began - model.cpu
    count = len(questions)
    return {
        "recall@5": round(100 * found / count, 1),
        "all@5": round(100 * whole / count, 1),
        "own_cpu_ms": round(1000 * spent / count, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--out", default="benchmarks/results/retrieval.json")
    parser.add_argument("--profiles", default="fast,nlp")
    arguments = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    for profile in arguments.profiles.split(","):
        for name in ("hotpotqa_train", "musique_train"):
            documents, questions = two_hop(Path(arguments.data, name))
            model = Timed(profile)
            settings = Settings(profile=profile)
            with (
                tempfile.TemporaryDirectory() as folder,
                Index.open(f"{folder}/kb", settings=settings, embedder=model) as made,
            ):
                made.add(documents)
                index = PassageIndex(made._store, model)
                for mode in ("passages", "auto", "hybrid", "dense", "bm25"):
                    results[f"{name} {profile} {mode}"] = measured = measure(index, questions, mode, model)
                    print(name, profile, mode, measured, flush=True)
    Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    old = json.loads(Path(arguments.out).read_text("utf-8")) if Path(arguments.out).exists() else {}
    Path(arguments.out).write_text(json.dumps(old | results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
