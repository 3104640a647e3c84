"""Chinese news: whether a document that answers a question is among the first five, with the extra [zh] and without."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from knotwork import Document, Index, Settings, chinese


def measure(folder: Path, profile: str) -> dict[str, float]:
    corpus = json.loads((folder / "corpus.json").read_text("utf-8"))
    questions = json.loads((folder / "questions.json").read_text("utf-8"))
    with (
        tempfile.TemporaryDirectory() as name,
        Index.open(f"{name}/kb", settings=Settings(profile=profile)) as index,
    ):
        began = time.process_time()
        index.add([Document(row["text"], id=f"d{row['id']}") for row in corpus])
        indexing = time.process_time() - began
        first = among = 0
        for row in questions:
            gold = {f"d{id}" for id in row["gold"]}
            found = dict.fromkeys(one.document_id for one in index.search(row["question"], k=40))
            ranked = list(found)[:5]
            first += ranked[:1] != [] and ranked[0] in gold
            among += bool(gold & set(ranked))
        status = index.status()
    return {
        "hit@1": round(100 * first / len(questions), 1),
        "hit@5": round(100 * among / len(questions), 1),
        "indexing_cpu_s": round(indexing, 1),
        "entities": status.entities,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="../shared/data/crud_zh_dev")
    parser.add_argument("--out", default="benchmarks/results/chinese.json")
    arguments = parser.parse_args()
    results = {}
    if chinese.available():
        for profile in ("fast", "nlp"):
            results[f"with [zh], {profile}"] = measure(Path(arguments.data), profile)
    available, chinese.available = chinese.available, lambda: False
    results["without, fast"] = measure(Path(arguments.data), "fast")
    chinese.available = available
    print(json.dumps(results, indent=1))
    Path(arguments.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
