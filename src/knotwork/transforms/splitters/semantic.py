"""Pieces of one topic each: `EmbeddingBasedDocumentSplitter` for documents, `SemanticSplitter` for a graph's nodes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from knotwork.errors import InputError, MissingExtra, ModelError
from knotwork.graph import Document, Node, Relationship
from knotwork.models import embedder
from knotwork.text import stable_id
from knotwork.threads import in_coroutine
from knotwork.transforms.base import Splitter
from knotwork.transforms.engine import run_sync
from knotwork.transforms.splitters.chunks import Span, body, chunk_nodes, join_short, shifted, without_blanks
from knotwork.transforms.splitters.drift import Floats, Method, Wanted, cut

# -- embedders ------------------------------------------------------------------------------------


def takes_documents(model: Any) -> bool:
    """Whether an embedder is of haystack's shape, `run(documents=…)`, and of no other."""
    run = getattr(model, "run", None)
    if not callable(run) or callable(getattr(model, "embed", None)):
        return False
    parameters = inspect.signature(run).parameters
    return "documents" in parameters or (
        "text" not in parameters and any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    )


async def _rows_of(model: Any, wanted: Wanted, name_of: Callable[[int], str]) -> Floats:
    """The vectors that an embedder of ours gives."""
    try:
        made = await model.embed([text for _, text in wanted])
    except ModelError as error:
        if not isinstance(error.__cause__, TypeError | ValueError):
            raise
        raise InputError(f"{name_of(wanted[0][0])}: {error}") from error  # what came are no vectors
    return checked(made, wanted, name_of)


def checked(made: Any, wanted: Wanted, name_of: Callable[[int], str]) -> Floats:
    """Vectors as rows of finite numbers. Raises InputError naming the document of one that isn't."""
    try:
        rows = list(made)
    except TypeError as error:
        raise InputError(f"{name_of(wanted[0][0])}: the embedder gave {type(made).__name__}, no vectors") from error
    for at in range(len(wanted)):
        rows[at : at + 1] = [_row(rows, at)]
        if isinstance(rows[at], str):
            number, text = wanted[at]
            raise InputError(
                f"{name_of(number)}: the embedder gave {rows[at]} for {text[:60]!r}; "
                "each text needs a vector of finite numbers, all of one length"
            )
    if len(rows) > len(wanted):
        raise InputError(f"{name_of(wanted[0][0])}: the embedder gave {len(rows)} vectors for {len(wanted)} texts")
    return np.stack(rows)


def _row(rows: Sequence[Any], at: int) -> Floats | str:
    """A vector as numbers, or what is wrong with it."""
    if at >= len(rows) or rows[at] is None:
        return "no vector"
    try:
        row = np.asarray(rows[at], np.float64)
    except (TypeError, ValueError):
        return f"a {type(rows[at]).__name__} that is no vector"
    if row.ndim != 1 or not row.size or (at and row.shape != rows[0].shape):
        return f"an array of shape {row.shape}"
    return row if np.isfinite(row).all() else "a vector with NaN, None or Infinity"


# -- the transform --------------------------------------------------------------------------------


@dataclass
class SemanticSplitter(Splitter):
    """Cuts `page_content` where the topic changes; see `EmbeddingBasedDocumentSplitter` for the method.

    Lengths are in characters. embedding_model: an `Embedder`, its name, or an object that embeds; None: the offline
    one. language None: told from the text. Chunks are tied and carry what those of SentenceSplitter do; only a blank
    stretch longer than `max_length` makes one too long, for it stays with the text beside it.
    """

    embedding_model: Any = None
    sentences_per_group: int = 3
    percentile: float = 0.95
    min_length: int = 50
    max_length: int = 1000
    language: str | None = None
    use_split_rules: bool = True
    extend_abbreviations: bool = True

    reads: ClassVar[frozenset[str]] = frozenset({"page_content"})

    def __post_init__(self) -> None:
        super().__post_init__()
        _method_of(self)  # refuses what is out of range

    async def split(self, node: Node) -> tuple[list[Node], list[Relationship]]:
        text = node.get_property("page_content")
        if not isinstance(text, str) or not (parts := body(node, text)):
            return [], []
        method = _method_of(self)
        self.embedding_model = model = embedder(self.embedding_model)
        embed = partial(_rows_of, model, name_of=lambda _: f"node {node.id!r}")
        inside = await cut([text[start:end] for start, end in parts], method, lambda wanted: embed(wanted))
        spans: list[Span] = []
        for (start, end), found in zip(parts, inside, strict=True):
            visible = without_blanks(text[start:end], found, method.fits)
            spans += shifted(join_short(visible, method.short, method.fits), start)
        return chunk_nodes(node, text, spans)


def _method_of(settings: Any) -> Method:
    return Method(**{field.name: getattr(settings, field.name) for field in dataclasses.fields(Method)})


# -- the class for documents ----------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class EmbeddingBasedDocumentSplitter:
    """Splits documents where the vectors of neighbouring groups of sentences lie far apart.

    document_embedder: an `Embedder`, its name, or an object with `run(documents=…)` as haystack's have; None: the
    offline one. Lengths are in characters. A break follows every cosine distance above the `percentile` of a text's
    distances, and those tied with the largest. A piece over `max_length` is split again by the same method, where
    that gives one piece at the border of a group, else of a sentence, else between characters. A piece below
    `min_length` then joins a neighbour if the two fit into `max_length`. The contents of a document's splits together
    are its content.

    use_split_rules: no sentence ends inside brackets or quotes, or after the mark of a list. extend_abbreviations:
    none ends after an abbreviation of the language. Raises InputError, a ValueError, for settings out of range.
    """

    document_embedder: Any
    sentences_per_group: int = 3
    percentile: float = 0.95
    min_length: int = 50
    max_length: int = 1000
    language: str = "en"
    use_split_rules: bool = True
    extend_abbreviations: bool = True

    def __post_init__(self) -> None:
        _method_of(self)  # refuses what is out of range
        self._model: Any = None  # what embeds, once warm

    def warm_up(self) -> None:
        """Make the embedder ready; to be called before `run`."""
        if self._model is not None:
            return
        model = self.document_embedder
        if not takes_documents(model):
            model = embedder(model)
        elif callable(getattr(model, "warm_up", None)):
            model.warm_up()
        self._model = model

    def run(self, documents: list[Any]) -> dict[str, list[Any]]:
        """`{"documents": splits}`, of the class that was given, in order.

        documents: `Document`s, or objects with `content` and `meta`. Each split has everything of the original's
        metadata, and `source_id`, `split_id` (from 0), `page_number` (of its first visible character, form feeds
        counted) and `split_idx_start` (its place in the original's text).

        Raises RuntimeError before `warm_up`, TypeError for anything else than a list of documents, and InputError,
        naming the document, for one without text and for vectors that are missing or not finite.
        """
        return run_sync(self.run_async(documents))

    async def run_async(self, documents: list[Any]) -> dict[str, list[Any]]:
        """As `run`, to be awaited."""
        if self._model is None:
            raise RuntimeError(f"{type(self).__name__} is not ready: call warm_up() before run()")
        texts = _texts_of(documents)
        method = _method_of(self)
        spans = await cut(texts, method, partial(self._embed, documents))
        splits = [split for document, found in zip(documents, spans, strict=True) for split in _splits(document, found)]
        return {"documents": splits}

    async def _embed(self, documents: Sequence[Any], wanted: Wanted) -> Floats:
        def name_of(number: int) -> str:
            return _name(documents[number], number)

        if not takes_documents(self._model):
            return await _rows_of(self._model, wanted, name_of)
        given = [_foreign_class(documents[number], self._model)(content=text) for number, text in wanted]
        made = await in_coroutine(self._model.run)(documents=given)
        if not isinstance(made, Mapping) or not isinstance(made.get("documents"), list):
            raise InputError(
                f"{name_of(wanted[0][0])}: {type(self._model).__name__}.run gave no vectors; "
                'it must return {"documents": [documents with an embedding]}'
            )
        return checked([getattr(document, "embedding", None) for document in made["documents"]], wanted, name_of)

    def to_dict(self) -> dict[str, Any]:
        """`{"type", "init_parameters"}`, the embedder by its own `to_dict`. TypeError when it has none."""
        parameters = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        model = self.document_embedder
        if model is not None and not isinstance(model, str):
            if not callable(getattr(model, "to_dict", None)):
                raise TypeError(
                    f"{type(model).__name__} has no to_dict(), so {type(self).__name__} can't be written down; "
                    'give the embedder one, or name it by a str ("offline", "fast", "nlp")'
                )
            parameters["document_embedder"] = model.to_dict()
        return {"type": f"{type(self).__module__}.{type(self).__qualname__}", "init_parameters": parameters}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> EmbeddingBasedDocumentSplitter:
        """The splitter of `to_dict`; the embedder's class is imported by its `type`."""
        parameters = dict(_parameters(data, cls.__name__))
        model = parameters.get("document_embedder")
        if isinstance(model, Mapping):
            parameters["document_embedder"] = _revived(model)
        try:
            return cls(**parameters)
        except TypeError as error:
            raise InputError(f"{cls.__name__}: init_parameters don't fit: {error}") from error


def _parameters(data: Any, name: str) -> Mapping[str, Any]:
    parameters = data.get("init_parameters") if isinstance(data, Mapping) else None
    if not isinstance(parameters, Mapping):
        raise InputError(f'{name}: a dict with "type" and "init_parameters" is needed, as to_dict gives, not {data!r}')
    return parameters


def _revived(data: Mapping[str, Any]) -> Any:
    """The embedder of a `to_dict`."""
    path = data.get("type")
    module, _, name = path.rpartition(".") if isinstance(path, str) else ("", "", "")
    try:
        made = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"document_embedder: no class can be imported by the type {path!r}: {error}") from error
    return made.from_dict(data) if hasattr(made, "from_dict") else made(**_parameters(data, str(path)))


def _texts_of(documents: Any) -> list[str]:
    if not isinstance(documents, list):
        raise TypeError(f"run needs a list of documents, not {type(documents).__name__}")
    texts: list[str] = []
    for number, document in enumerate(documents):
        ours = isinstance(document, Document)
        if isinstance(document, type) or not (ours or (hasattr(document, "content") and hasattr(document, "meta"))):
            raise TypeError(
                f"run needs a list of documents; item {number} is {type(document).__name__}, "
                "which is no Document and has no content and meta"
            )
        text = document.text if ours else document.content
        if text is None or text == "":
            raise InputError(f"{_name(document, number)} has no text to split; leave it out, or give it one")
        if not isinstance(text, str):
            raise TypeError(f"the text of {_name(document, number)} is {type(text).__name__}, a str is needed")
        if not isinstance(_meta(document), Mapping):
            raise TypeError(
                f"the metadata of {_name(document, number)} is {type(_meta(document)).__name__}, a dict is needed"
            )
        texts.append(text)
    return texts


def _name(document: Any, number: int) -> str:
    id = getattr(document, "id", None)
    return f"document {id!r}" if id else f"document {_id(document)!r} (item {number})"


def _id(document: Any) -> str:
    if isinstance(document, Document):
        return document.key
    return str(getattr(document, "id", None) or stable_id("document-text", document.content))


def _meta(document: Any) -> Any:
    meta = document.metadata if isinstance(document, Document) else document.meta
    return {} if meta is None else meta


def _foreign_class(document: Any, model: Any) -> Callable[..., Any]:
    """The class of documents that an embedder of haystack's shape is handed."""
    if not isinstance(document, Document):
        return type(document)
    try:
        from haystack import Document as Foreign
    except ImportError as error:
        raise MissingExtra(f"{type(model).__name__}, an embedder of haystack's,", "haystack") from error
    made: Callable[..., Any] = Foreign
    return made


def _splits(document: Any, spans: Sequence[Span]) -> Iterator[Any]:
    ours = isinstance(document, Document)
    text, source, meta = (document.text if ours else document.content), _id(document), _meta(document)
    page, seen = _first_page(meta, source), 0
    repeats: dict[str, int] = {}
    for number, (start, end) in enumerate(spans):
        content = text[start:end]
        visible = start + len(content) - len(content.lstrip()) if content.strip() else start
        page += text.count("\f", seen, visible)
        seen = visible
        repeat = repeats[content] = repeats.get(content, -1) + 1
        place = {"source_id": source, "split_id": number, "page_number": page, "split_idx_start": start}
        id = stable_id("chunk", source, content, repeat)
        own = deepcopy(dict(meta)) | place
        if ours:
            yield dataclasses.replace(document, text=content, id=id, metadata=own | _body_within(meta, start, end))
        else:
            named = {"id": id} if _takes_id(type(document)) else {}
            yield type(document)(content=content, meta=own, **named)


def _first_page(meta: Mapping[str, Any], source: str) -> int:
    page = meta.get("page_number", 1)
    if not isinstance(page, int) or isinstance(page, bool):
        raise InputError(f"document {source!r}: page_number is {page!r}, a whole number is needed")
    return page


def _body_within(meta: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
    """The metadata's `body`, which our loaders give as spans of the text, as spans of a split's."""
    spans = meta.get("body")
    if not isinstance(spans, list) or not all(isinstance(span, list | tuple) and len(span) == 2 for span in spans):
        return {}
    moved = [[max(first, start) - start, min(last, end) - start] for first, last in spans]
    return {"body": [span for span in moved if span[0] < span[1]] or [[0, 0]]} if spans else {}


def _takes_id(made: type) -> bool:
    parameters = inspect.signature(made).parameters
    return "id" in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())
