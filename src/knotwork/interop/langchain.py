"""LangChain's documents in, evidence and chunks out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from knotwork import Document, Evidence, Node
from knotwork.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from langchain_core.documents import Document as LangChainDocument

PLACE = ("page", "start_index")
"""Keys of metadata by which LangChain's loaders and splitters tell parts of one source apart."""


def from_langchain(documents: Iterable[LangChainDocument]) -> list[Document]:
    """LangChain's documents as ours: the text, its metadata, `source` and `title` from there, and the id.

    One without an id gets it from its source, and where it has them its page and place in it, so that the pages
    of one file stay apart; the n-th of the same place is told apart by n. Raises InputError for an object without
    a text.
    """
    made: list[Document] = []
    seen: Counter[str] = Counter()
    for number, document in enumerate(documents):
        text, metadata = getattr(document, "page_content", None), getattr(document, "metadata", None) or {}
        if not isinstance(text, str):
            raise InputError(
                f"document {number} is {type(document).__name__} and has no page_content that is a str; "
                "LangChain's documents are wanted"
            )
        if not isinstance(metadata, Mapping):
            raise InputError(f"the metadata of document {number} is {type(metadata).__name__}; a dict is needed")
        made.append(
            Document(
                text,
                id=getattr(document, "id", None) or _id(metadata, seen),
                title=str(metadata.get("title") or ""),
                source=str(metadata.get("source") or ""),
                metadata=dict(metadata),
            )
        )
    return made


def _id(metadata: Mapping[str, Any], seen: Counter[str]) -> str | None:
    """None where the source alone says which document it is, or nothing does."""
    if not (source := str(metadata.get("source") or "")):
        return None
    place = "".join(f"#{key}={metadata[key]}" for key in PLACE if metadata.get(key) is not None)
    seen[source + place] += 1
    if (n := seen[source + place]) > 1:
        place += f"#{n}"
    return source + place if place else None


def to_langchain(items: Iterable[Document | Evidence | Node]) -> list[LangChainDocument]:
    """Documents, evidence, or chunk and document nodes as LangChain's documents; what is known of them is metadata.

    Vectors stay behind. Raises InputError for anything else, and for a node without `page_content`.
    """
    try:
        from langchain_core.documents import Document as Theirs
    except ImportError as error:
        raise MissingExtra("to_langchain", "langchain") from error
    return [Theirs(page_content=text, id=id, metadata=metadata) for text, id, metadata in map(_parts, items)]


def _parts(item: Document | Evidence | Node) -> tuple[str, str, dict[str, Any]]:
    """Text, id and metadata."""
    if isinstance(item, Document):
        known = {"title": item.title, "source": item.source}
        return item.text, item.key, {**item.metadata, **{key: value for key, value in known.items() if value}}
    if isinstance(item, Evidence):
        metadata = {
            key: getattr(item, key) for key in ("document_id", "title", "source", "start", "end", "score", "why")
        }
        return item.text, f"{item.document_id}#{item.start}-{item.end}", metadata
    if not isinstance(item, Node):
        raise InputError(f"{type(item).__name__} can't become a LangChain document; Document, Evidence or Node can")
    text = item.get_property("page_content")
    if not isinstance(text, str):
        raise InputError(f"node {item.id!r} has no page_content that is a str, so it can't become a LangChain document")
    own = item.get_property("metadata")
    metadata = dict(own) if isinstance(own, dict) else {}
    for key, value in item.properties.items():
        if key not in ("page_content", "metadata") and isinstance(value, str | int | float):
            metadata[key] = value
    return text, str(item.id), metadata
