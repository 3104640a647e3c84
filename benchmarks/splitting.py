"""The semantic splitter on 10 KB to 1 MB of prose, with an embedder that costs nothing.

CPU seconds (all threads), calls of the embedder, and how much text it was given for each character of the document.
`prose` and `FreeEmbedder` serve for other splitters too: the embedder has the faces of ours and of haystack's.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (10_000, 31_600, 100_000, 316_000, 1_000_000)

TOPICS = [
    "river water bank flood bridge boat current fish mill delta stream ferry",
    "star planet orbit moon telescope comet dust light galaxy night sky eclipse",
    "bread flour oven yeast dough baker crust salt loaf kitchen butter grain",
    "court judge law trial witness verdict appeal clerk evidence lawyer oath jury",
    "engine piston steam valve boiler wheel rail smoke driver coal brake signal",
    "garden rose soil seed root leaf bee hedge spade autumn apple orchard",
    "violin chord melody stage choir rhythm bow concert tune song score drum",
    "cell protein gene enzyme membrane virus tissue blood nerve antibody organ dose",
]
VERBS = "holds follows changes meets carries leaves keeps shows finds needs".split()  # noqa: SIM905
LINKS = "near under with after before beside without against over through".split()  # noqa: SIM905


def prose(characters: int, seed: int = 7) -> str:
    """English-like sentences in paragraphs whose topic drifts; the same for the same arguments."""
    rng = random.Random(seed)
    topics = [topic.split() for topic in TOPICS]
    parts: list[str] = []
    length, topic = 0, 0
    while length < characters:
        if rng.random() < 0.15:
            topic = rng.randrange(len(topics))
        sentence = _sentence(rng, topics[topic])
        sentence += "\n\n" if rng.random() < 0.12 else " "
        parts.append(sentence)
        length += len(sentence)
    return "".join(parts)[:characters]


def _sentence(rng: random.Random, words: Sequence[str]) -> str:
    clauses = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        noun, other, third = rng.sample(words, 3)
        clauses.append(f"the {noun} {rng.choice(VERBS)} the {other} {rng.choice(LINKS)} a {third}")
    said = ", and ".join(clauses)
    said = said[0].upper() + said[1:]
    unusual = [f"{said}?", f"“{said}!”", f"{said} (see p. {rng.randrange(90)}).", f"Dr. Lane knew it: {said}."]
    return rng.choice([f"{said}."] * 12 + unusual)


class FreeEmbedder:
    """Vectors by the topics of a text's first words, at almost no cost. Counts its calls and the characters it got."""

    name = "free"
    dimension = len(TOPICS)

    def __init__(self) -> None:
        self.calls = 0
        self.characters = 0
        self._topic = {word: number for number, topic in enumerate(TOPICS) for word in topic.split()}

    async def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.array(self._rows(texts), np.float32)

    def run(self, documents: list[Any]) -> dict[str, list[Any]]:
        """haystack's face."""
        for document, row in zip(documents, self._rows([document.content for document in documents]), strict=True):
            document.embedding = row
        return {"documents": documents}

    def _rows(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls += 1
        self.characters += sum(map(len, texts))
        return [self._row(text) for text in texts]

    def _row(self, text: str) -> list[float]:
        row = [0.1] * self.dimension
        for word in text.split(maxsplit=24)[:24]:
            if (topic := self._topic.get(word)) is not None:
                row[topic] += 1.0
        length = math.sqrt(sum(value * value for value in row))
        return [value / length for value in row]


def ours(characters: int) -> dict[str, float]:
    """One run over a document of that length."""
    from knotwork import Document
    from knotwork.transforms import EmbeddingBasedDocumentSplitter

    text, model = prose(characters), FreeEmbedder()
    splitter = EmbeddingBasedDocumentSplitter(document_embedder=model)
    splitter.warm_up()
    splitter.run([Document("One is here. Two is there. Three.")])  # what is loaded at the first call
    model.calls = model.characters = 0
    began = time.process_time()
    splits = splitter.run([Document(text)])["documents"]
    cpu = time.process_time() - began
    contents = [split.text for split in splits]
    assert "".join(contents) == text
    return {
        "characters": characters,
        "cpu_s": cpu,
        "splits": len(contents),
        "longest": max(map(len, contents)),
        "embedder_calls": model.calls,
        "embedded_share": model.characters / characters,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/results/splitting.json")
    arguments = parser.parse_args()
    rows = [min((ours(size) for _ in range(3)), key=lambda row: row["cpu_s"]) for size in SIZES]
    exponent = float(
        np.polyfit(np.log([row["characters"] for row in rows]), np.log([row["cpu_s"] for row in rows]), 1)[0]
    )
    results = {"knotwork": rows, "exponent": exponent}
    Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
