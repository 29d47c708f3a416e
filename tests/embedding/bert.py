"""A model of sentence-transformers with random weights, made on the spot: nothing has to be downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def make_model(folder: Path, words: Sequence[str], *, width: int, layers: int, heads: int, longest: int) -> Path:
    """Save a model that knows these words, with a prompt of its own for queries; returns its folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    bert, saved = folder / "bert", folder / "model"
    bert.mkdir()
    (bert / "vocab.txt").write_text("\n".join([*_SPECIAL, *words]))
    BertTokenizerFast(vocab_file=str(bert / "vocab.txt")).save_pretrained(bert)
    sizes: dict[str, Any] = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads}
    known = len(_SPECIAL) + len(words)
    config = BertConfig(vocab_size=known, intermediate_size=4 * width, max_position_embeddings=longest, **sizes)
    BertModel(config).save_pretrained(bert)
    modules = [Transformer(str(bert)), Pooling(width)]
    SentenceTransformer(modules=modules, prompts={"query": "query: "}, device="cpu").save(str(saved))
    return saved
