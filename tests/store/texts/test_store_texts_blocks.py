"""Blocks, merging and ranking as values: what is packed is what was there, and a bound is never too low."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.store.texts import lexemes, merging, ranking
from detent.store.texts.blocks import COMMON, ENTRY, Block, MergeInput, build, from_bits, mark, merge, to_bits
from detent.store.texts.merging import Size

Words = Mapping[str, int]

texts = st.lists(
    st.dictionaries(st.sampled_from(["a", "bb", "ü", "日本", "x" * 300]), st.integers(1, 300)), max_size=40
)


def vector(words: Words) -> bytes:
    """As PostgreSQL sends it."""
    parts = [word.encode() + struct.pack(f">xH{times}H", times, *range(times)) for word, times in words.items()]
    return struct.pack(">i", len(words)) + b"".join(parts)


def block_of(many: Sequence[Words], first: int = 0) -> Block:
    return build(range(first, first + len(many)), lexemes.read([vector(words) for words in many]))


def lines(block: Block) -> Iterator[tuple[str, int, int, int]]:
    """Each entry as term, text, how often, and the text's length."""
    entries = np.frombuffer(block.entries, ENTRY)
    terms = np.repeat(np.array(block.terms, dtype=object), block.counts)
    for term, entry in zip(terms.tolist(), entries, strict=True):
        yield term.decode(), int(block.texts[entry["ordinal"]]), int(entry["times"]), int(entry["length"])


def expected(many: Mapping[int, Words]) -> set[tuple[str, int, int, int]]:
    capped = {text: {word: min(times, 255) for word, times in words.items()} for text, words in many.items()}
    return {(word, text, times, sum(words.values())) for text, words in capped.items() for word, times in words.items()}


@given(texts)
def test_vectors_are_read_whole(many: list[Words]) -> None:
    found = lexemes.read([vector(words) for words in many])
    read = {
        (int(text), found.terms[term].decode(), int(times))
        for text, term, times in zip(found.text, found.term, found.times, strict=True)
    }
    assert read == {(n, word, min(times, 255)) for n, words in enumerate(many) for word, times in words.items()}
    assert len(found.term) == len(read)


def test_many_vectors_are_read_side_by_side_and_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    many: list[Words] = [{f"w{n % 7}-{m}": 1 + m % 3 for m in range(n % 90)} for n in range(300)]
    whole = sorted(lines(block_of(many)))
    monkeypatch.setattr(lexemes, "AT_ONCE", 5000)
    assert sorted(lines(block_of(many))) == whole
    assert set(whole) == expected(dict(enumerate(many)))


@given(st.lists(st.tuples(texts, st.sets(st.integers(0, 39))), min_size=1, max_size=4))
def test_merging_keeps_the_living_and_their_words(parts: list[tuple[list[Words], set[int]]]) -> None:
    living: dict[int, Words] = {}
    blocks = []
    for place, (many, gone) in enumerate(parts):
        if many:
            block = block_of(many, 1000 * (9 - place))
            dead = mark(block.texts, np.zeros(len(many), np.bool_), np.array(sorted(gone)) + int(block.texts[0]))
            blocks.append(MergeInput(block, from_bits(to_bits(dead), len(many))))
            living |= {int(text): many[n] for n, text in enumerate(block.texts) if n not in gone}
    merged = merge(blocks) if blocks else None
    if merged is None:
        assert not living
        return
    assert merged.texts.tolist() == sorted(living)
    assert set(lines(merged)) == expected(living)
    assert merged.terms == sorted({word.encode() for words in living.values() for word in words})
    assert merged.words == sum(min(times, 255) for words in living.values() for times in words.values())


@given(texts.filter(bool), st.integers(0, 5))
def test_the_common_terms_of_each_text_stand_beside_it(many: list[Words], short: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ranking, "SHORT", short)
        block = block_of(many)
    common = {term.decode(): int(number) for term, number in zip(block.terms, block.numbers, strict=True)}
    assert {word for word, number in common.items() if number >= 0} == {
        word for word in common if sum(word in words for words in many) > short
    }
    kept = np.frombuffer(block.common, COMMON)
    assert len(block.offsets) == len(many) + 1
    for words, start, stop in zip(many, block.offsets, block.offsets[1:], strict=False):
        assert {(int(each["number"]), int(each["times"])) for each in kept[start:stop]} == {
            (common[word], min(times, 255)) for word, times in words.items() if common[word] >= 0
        }


@given(st.lists(texts.filter(bool), min_size=1, max_size=3), st.integers(1, 30), st.floats(0.5, 500))
def test_a_bound_is_never_below_the_score_and_an_exact_one_is_the_score(
    many: list[list[Words]], read: int, average: float
) -> None:
    """Whatever the average length of the whole collection is."""
    blocks = [block_of(some) for some in many]
    terms = sorted({term for block in blocks for term in block.terms})
    collection = ranking.Collection(average, np.linspace(0.1, 3, len(terms)))
    starts = np.cumsum([0, *(len(block.texts) for block in blocks)])
    truth = np.zeros(int(starts[-1]))
    columns = []
    pieces = []
    for number, block in enumerate(blocks):
        entries = np.frombuffer(block.entries, ENTRY)
        ends = np.cumsum(block.counts)
        for term, count, end in zip(block.terms, block.counts.tolist(), ends.tolist(), strict=True):
            own = entries[end - count : end]
            for entry in own:
                times, length = int(entry["times"]), int(entry["length"])
                weight = times / (times + 1.5 * (0.25 + 0.75 * length / average))
                truth[starts[number] + entry["ordinal"]] += collection.rarity[terms.index(term)] * weight
            pieces.append(own[:read])
            average_here = block.words / len(block.texts)
            columns.append((number, terms.index(term), min(read, count), count, False, average_here))
    if not columns:
        return
    together = np.concatenate(pieces)
    numbers = [np.array(column) for column in zip(*columns, strict=True)]
    names = ("ordinal", "times", "length")
    slices = ranking.Slices(*numbers, *(together[name].astype(np.int64) for name in names))
    candidates = ranking.gather(slices, collection, starts, None)
    assert (candidates.bounds >= truth[candidates.places] - 1e-9).all()
    assert (candidates.floors <= truth[candidates.places] + 1e-9).all()
    assert candidates.bounds[candidates.exact] == pytest.approx(truth[candidates.places[candidates.exact]])


@pytest.mark.parametrize(
    ("counts", "budget", "shares"),
    [
        ([], 100, []),
        ([10, 20], 100, [10, 20]),
        ([10, 1000], 100, [10, 50]),
        ([1000, 10, 1000], 150, [50, 10, 50]),
        ([5, 5, 5], 2, [1, 1, 1]),
        ([0, 7], 4, [0, 2]),
    ],
)
def test_the_budget_is_shared_so_that_rare_words_are_read_whole(
    counts: list[int], budget: int, shares: list[int]
) -> None:
    assert ranking.share(counts, budget) == shares


def size(number: int, count: int, *, kind: int = 1, dead: int = 0, words: int = 10) -> Size:
    return Size(number, kind, count, count * words, dead, dead * words)


def test_eight_blocks_of_a_size_are_merged_and_seven_are_not() -> None:
    seven = [size(n, 20 + n) for n in range(7)]
    assert merging.choose(seven) == []
    assert merging.choose([*seven, size(8, 20, kind=2), size(9, 4000)]) == []
    assert merging.choose([*seven, size(7, 22)]) == [*seven, size(7, 22)]


def test_blocks_that_fill_one_are_merged_and_a_full_one_is_left_alone() -> None:
    full = size(0, 60_000)
    halves = [size(1, 20_000), size(2, 20_000), size(3, 20_000), size(4, 20_000)]
    assert merging.choose([full]) == []
    assert merging.choose([full, *halves]) == halves[:3]
    long = [size(n, 100, words=50_000) for n in range(2)]
    assert merging.choose(long) == []
    assert merging.choose([size(n, 50, words=60_000) for n in range(2)]) != []


def test_a_block_is_rewritten_when_more_than_a_fifth_of_it_is_dead() -> None:
    assert merging.choose([size(1, 100, dead=20)]) == []
    assert merging.choose([size(1, 100, dead=21)]) == [size(1, 100, dead=21)]
    assert merging.choose([size(1, 100, dead=1)], tolerance=0) == [size(1, 100, dead=1)]


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=200))
def test_merging_ends_and_leaves_few_blocks(counts: list[int]) -> None:
    blocks: list[Size] = []
    for number, count in enumerate(counts):
        blocks.append(size(number, count))
        while chosen := merging.choose(blocks):
            merged = size(1000 + number, sum(block.count for block in chosen))
            assert merged.fullness <= 1
            blocks = [*(block for block in blocks if block not in chosen), merged]
    assert len(blocks) <= 7 * 6 + 2 * sum(counts) / 65_536 + 1
