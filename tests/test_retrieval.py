"""Retrieval: equal to its plain reference, exact where it claims to be, blind to the future."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okh.domain import Group, Hyperedge, Question
from okh.precedence import PrecedenceKeys, precedence_matrix
from okh.retrieval import candidates as candidates_module
from okh.retrieval.beam import beam_search
from okh.retrieval.candidates import Pool, Scoping, build_pool, select, visible
from okh.retrieval.forward import forward_search
from okh.retrieval.index import HypergraphIndex
from okh.retrieval.retriever import OrderAwareRetriever
from okh.retrieval.scoring import Weights, edge_overlap, evaluate
from okh.retrieval.viterbi import viterbi
from tests import reference_retrieval as reference
from tests.strategies import GROUP, hyperedges

OTHER = Group.parse("OTHER-2031|galveston-tx")
ZERO = Weights(0, 0, 0, 0, 0)


class Bilinear:
    """A transition model with fixed random weights."""

    def __init__(self, dimension: int, seed: int = 0, rank: int = 4) -> None:
        rng = np.random.default_rng(seed)
        self.left, self.right = rng.normal(size=(2, rank, dimension)).astype(np.float32)

    def log_probabilities(self, vectors: np.ndarray) -> np.ndarray:
        scores = (vectors @ self.left.T) @ (vectors @ self.right.T).T
        np.fill_diagonal(scores, -np.inf)
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


# --- strategies -----------------------------------------------------------------------

weights = st.builds(
    Weights,
    lam=st.sampled_from([0.0, 0.5, 1.2]), mu=st.sampled_from([0.0, 0.3, 2.0]),
    nu=st.sampled_from([0.0, 0.2, 1.0]), rho=st.sampled_from([0.0, 0.5, 3.0]),
    delta=st.sampled_from([0.0, 0.5, 1.0]),
)


@st.composite
def pools(draw: st.DrawFn, max_size: int = 9) -> Pool:
    """A pool with few distinct values, so that ties and concurrent edges are common."""
    n = draw(st.integers(1, max_size))

    def numbers(values: list[float], count: int) -> list[float]:
        return draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))

    keys = PrecedenceKeys(
        position=np.array(numbers([np.nan, -np.inf, -48.0, -24.0, -12.0], n)),
        rank=np.array(numbers([64, 128, 129], n), dtype=np.int32),
        group=np.array(numbers([0, 0, 0, 1], n), dtype=np.int32),
    )
    undated = np.isnan(keys.position)
    by = np.lexsort((keys.rank, np.where(undated, 0, keys.position), undated))
    order = np.empty(n, dtype=np.int64)
    order[by] = np.arange(n)
    jaccard = np.array(numbers([0, 0.2, 1 / 3, 1], n * n)).reshape(n, n)
    log_p = np.array(numbers([-3.0, -1.0, -0.7, -0.1], n * n)).reshape(n, n)
    np.fill_diagonal(log_p, 0.0)
    return Pool(
        rows=np.arange(n), rel=np.sort(numbers([0.1, 0.3, 0.5, 0.55], n))[::-1].copy(),
        log_p=log_p,
        before=precedence_matrix(keys, sequence_index=draw(st.booleans())),
        jaccard=np.triu(jaccard) + np.triu(jaccard, 1).T,
        phase=np.array(numbers([-1, 0, 1, 3, 5], n), dtype=np.int8), order=order, phases=6,
    )


@st.composite
def corpora(draw: st.DrawFn, min_size: int = 1, max_size: int = 30) -> list[Hyperedge]:
    """Edges of two groups with distinct ids and colliding statements and entities."""
    drawn = draw(st.lists(hyperedges(), min_size=min_size, max_size=max_size))
    return [
        replace(
            e, id=f"{i:04d}", evidence=f"says {draw(st.integers(0, 9))}",
            observed=draw(st.sampled_from([False] * 5 + [True])),
            source_kind=draw(st.sampled_from(["products", "products", "scenario"])),
            entities=tuple(
                draw(st.sets(st.sampled_from(["p", "q", "r", "s", "horizon:T-24"]), min_size=2))
            ),
        )
        for i, e in enumerate(drawn)
    ]


def exact_vectors(count: int, seed: int) -> np.ndarray:
    """Unit vectors with entries ±1/4: every cosine is exact, and many are equal."""
    signs = np.random.default_rng(seed).integers(0, 2, size=(count, 16)) * 2 - 1
    return (signs / 4).astype(np.float32)


def unit_vectors(count: int, seed: int, dimension: int = 24) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, dimension))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def questions() -> st.SearchStrategy[Question]:
    return st.builds(
        Question, text=st.just("?"), storm=st.sampled_from([None, GROUP.storm]),
        year=st.sampled_from([None, 2031]), port=st.sampled_from([None, GROUP.port]),
        as_of=st.sampled_from([None, 96, 48, 12, -24]),
        source_kind=st.sampled_from([None, None, "products"]),
    )


def edge(number: int, group: Group = GROUP, **changes: object) -> Hyperedge:
    base = Hyperedge(
        id=f"{number:04d}", group=group.key, relation="r", raw_relation="r", family=4, story=4,
        sub_rank=0, phase="advisory", lead=48, lead_from=None, static=False,
        entities=(f"a:{number}", "horizon:T-48"), evidence=f"says {number}", attributes=(),
        confidence=1.0, grounded=True, synthetic=False, observed=False, issued=None,
        source_kind="products", kind="advisory", spans=(),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


IRMA = Question("?", storm=GROUP.storm, year=GROUP.year, port=GROUP.port)

# --- scoring --------------------------------------------------------------------------


@given(pools(), weights, st.randoms())
def test_score_is_eq5_read_word_by_word(pool: Pool, w: Weights, random) -> None:
    steps = list(range(len(pool)))
    random.shuffle(steps)
    steps = tuple(steps[: random.randint(1, len(steps))])
    scored = evaluate(pool, w, steps)
    assert scored.score == reference.eq5(reference.PlainPool.of(pool), w, steps)
    assert 0 <= scored.terms.prec <= 1
    assert 0 <= scored.terms.cov <= 1
    assert 0 <= scored.terms.ovlp <= 1


def test_weights_refuse_negative_values() -> None:
    with pytest.raises(ValueError, match="negative"):
        Weights(mu=-0.1)


# --- beam -----------------------------------------------------------------------------


@settings(max_examples=200)
@given(pools(), weights, st.integers(1, 6), st.integers(1, 8))
def test_beam_equals_the_reference(pool: Pool, w: Weights, width: int, length: int) -> None:
    plain = reference.PlainPool.of(pool)
    found = beam_search(pool, w, width=width, length=length)
    assert found == reference.beam(plain, w, width, length)
    assert all(len(set(steps)) == len(steps) == min(length, len(pool)) for steps in found)


@given(pools(max_size=12), st.integers(1, 4), st.integers(1, 8))
def test_zero_weights_give_plain_top_k(pool: Pool, width: int, length: int) -> None:
    retriever = OrderAwareRetriever(
        HypergraphIndex.from_edges([], np.zeros((0, 4), np.float32)),
        weights=ZERO, width=width, length=length,
    )
    best = retriever.search(pool)[0]
    assert best.steps == tuple(range(min(length, len(pool)))), "the nearest, in order of Rel"


@given(pools(max_size=6), weights, st.integers(1, 4))
def test_wide_beam_is_brute_force_of_its_objective(pool: Pool, w: Weights, length: int) -> None:
    w = replace(w, delta=0)
    plain = reference.PlainPool.of(pool)

    def score(steps: tuple[int, ...]) -> int:
        return reference.algorithm_score(plain, w, steps)

    everything = list(itertools.permutations(range(len(pool)), min(length, len(pool))))
    found = beam_search(pool, w, width=10_000, length=length)
    assert found == everything
    assert max(map(score, found)) == max(map(score, everything))
    narrow = beam_search(pool, w, width=3, length=length)
    assert max(map(score, narrow)) <= max(map(score, everything))


# --- the two dynamic programs ---------------------------------------------------------


@given(pools(max_size=5), weights, st.integers(1, 4))
def test_viterbi_equals_brute_force(pool: Pool, w: Weights, length: int) -> None:
    def value(walk: tuple[int, ...]) -> float:
        return sum(pool.rel[i] for i in walk) + w.lam * sum(
            pool.log_p[a, b] for a, b in itertools.pairwise(walk)
        )

    length = min(length, len(pool))
    best = max(
        value(walk)
        for walk in itertools.product(range(len(pool)), repeat=length)
        if all(a != b for a, b in itertools.pairwise(walk))
    )
    walk, bound = viterbi(pool, w, length=length)
    assert bound == pytest.approx(best, abs=1e-8)
    assert value(walk) == pytest.approx(bound, abs=1e-12)
    two_terms = replace(w, mu=0, nu=0, rho=0)
    for steps in beam_search(pool, w, width=4, length=length):
        assert evaluate(pool, two_terms, steps).score <= bound + 1e-8


@settings(max_examples=300)
@given(pools(max_size=8), weights, st.integers(1, 6))
def test_forward_equals_brute_force_of_eq5(pool: Pool, w: Weights, length: int) -> None:
    length = min(length, len(pool))
    canonical = np.argsort(pool.order).tolist()
    best = max(
        evaluate(pool, w, steps).score for steps in itertools.combinations(canonical, length)
    )
    steps = forward_search(pool, w, length=length)
    assert evaluate(pool, w, steps).score == pytest.approx(best, abs=1e-8)
    assert [pool.order[i] for i in steps] == sorted({pool.order[i] for i in steps})
    assert len(steps) == length


def test_forward_pays_precedence_only_where_it_is_earned() -> None:
    """Two near concurrent edges against a weaker pair that goes forward."""
    before = np.zeros((3, 3), dtype=np.bool_)
    before[0, 2] = before[1, 2] = True
    pool = Pool(
        rows=np.arange(3), rel=np.array([0.9, 0.8, 0.6]), log_p=np.zeros((3, 3)), before=before,
        jaccard=np.zeros((3, 3)), phase=np.full(3, -1, np.int8), order=np.arange(3), phases=6,
    )
    assert forward_search(pool, replace(ZERO, mu=0.1), length=2) == (0, 1)
    assert forward_search(pool, replace(ZERO, mu=0.3), length=2) == (0, 2)


# --- candidates -----------------------------------------------------------------------


def test_what_is_visible() -> None:
    edges = [
        edge(0, lead=72),
        edge(1, lead=48),
        edge(2, lead=24),
        edge(3, lead=24, lead_from=72, family=13),
        edge(4, lead=48, lead_from=72, family=13),
        edge(5, lead=None, static=True),
        edge(6, lead=None),
        edge(7, lead=72, observed=True),
        edge(8, lead=None, group=OTHER),
        edge(9, lead=None, observed=True, group=OTHER),
        edge(10, lead=72, source_kind="scenario"),
    ]
    index = HypergraphIndex.from_edges(edges, exact_vectors(len(edges), 0))

    def seen(**question: object) -> list[int]:
        mask = visible(index, np.arange(len(edges)), Question("?", **question))  # type: ignore[arg-type]
        return np.flatnonzero(mask).tolist()

    assert seen(as_of=48) == [0, 1, 4, 5, 8, 10]
    assert seen(as_of=72) == [0, 5, 8, 10]
    assert seen(as_of=-24) == [0, 1, 2, 3, 4, 5, 8, 10]
    assert seen() == list(range(11))
    assert seen(as_of=72, source_kind="scenario") == [10]


def test_only_lead_filters_where_as_of_does_not() -> None:
    edges = [edge(0, lead=72), edge(1, lead=48), edge(2, lead=24, lead_from=48, family=13)]
    index = HypergraphIndex.from_edges(edges, exact_vectors(3, 0))
    rows, _ = select(
        index, replace(IRMA, lead=48), np.ones(16, np.float32), Scoping(only_lead=True)
    )
    assert sorted(rows.tolist()) == [1, 2]


@settings(max_examples=200)
@given(
    corpora(), questions(), st.integers(0, 10**6),
    st.builds(
        Scoping, top_k=st.integers(1, 6), limit=st.integers(6, 12), stay_inside=st.booleans()
    ),
)
def test_retrieval_equals_the_reference(
    edges: list[Hyperedge], question: Question, seed: int, scoping: Scoping
) -> None:
    vectors = exact_vectors(len(edges) + 1, seed)
    query = vectors[-1]
    model = Bilinear(16, seed)
    retriever = OrderAwareRetriever(
        HypergraphIndex.from_edges(edges, vectors[:-1]), model, scoping=scoping, width=4, length=5
    )
    found = retriever.retrieve(question, query)
    expected = reference.retrieve(
        edges, vectors[:-1].tolist(), question, query.tolist(), model=model, scoping=scoping,
        width=4, length=5,
    )
    assert [tuple(e.id for e in t.edges) for t in found] == [ids for ids, _ in expected]
    assert [t.score for t in found] == pytest.approx([score for _, score in expected], abs=1e-9)


@given(corpora(min_size=12, max_size=40), questions(), st.integers(0, 10**6), st.booleans())
def test_wide_scopes_give_the_same_candidates(
    edges: list[Hyperedge], question: Question, seed: int, stay_inside: bool
) -> None:
    """The two ways to find the nearest rows, all exactly or by a shortlist, agree."""
    vectors = unit_vectors(len(edges) + 1, seed)
    index = HypergraphIndex.from_edges(edges, vectors[:-1])
    scoping = Scoping(top_k=2, limit=6, stay_inside=stay_inside)
    rows, rel = select(index, question, vectors[-1], scoping)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates_module, "_WIDE", 5)
        patch.setattr(candidates_module, "_SHORTLIST", 1)
        wide_rows, wide_rel = select(index, question, vectors[-1], scoping)
    assert wide_rows.tolist() == rows.tolist()
    assert wide_rel.tolist() == rel.tolist()


def test_neighbours_go_before_other_members_and_hubs_link_nothing() -> None:
    shared = {1: ("state:x", "cyclone:c"), 5: ("state:x", "cyclone:c")}
    edges = [edge(i, entities=shared.get(i, (f"a:{i}", "cyclone:c"))) for i in range(20)]
    vectors = np.zeros((20, 2), np.float32)
    vectors[:, 0] = np.linspace(0.5, 0.1, 20)
    vectors[1, 0] = 0.9
    vectors[5, 0] = 0.0
    index = HypergraphIndex.from_edges(edges, vectors)
    assert np.flatnonzero(index.neighbours(np.array([1]))).tolist() == [1, 5]
    rows, _ = select(index, IRMA, np.array([1, 0], np.float32), Scoping(top_k=1, limit=3))
    assert rows.tolist() == [1, 0, 5], "the neighbour, though farthest of all, has a place"


def test_a_share_of_the_places_is_kept_for_the_own_group() -> None:
    edges = [edge(i, OTHER if i < 20 else GROUP) for i in range(40)]
    vectors = np.zeros((40, 2), np.float32)
    vectors[:, 0] = np.linspace(1, 0, 40)
    index = HypergraphIndex.from_edges(edges, vectors)
    query = np.array([1, 0], np.float32)
    scoping = Scoping(top_k=6, limit=10, stay_inside=False)
    rows, _ = select(index, IRMA, query, scoping)
    assert rows.tolist() == [0, 1, 2, 3, 4, 5, 20, 21, 22, 23]
    rows, _ = select(index, IRMA, query, replace(scoping, stay_inside=True))
    assert rows.tolist() == list(range(20, 30))


def test_one_statement_filed_in_two_groups_is_one_candidate() -> None:
    edges = [edge(0, OTHER), edge(1, GROUP, evidence="says 0"), edge(2, OTHER)]
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    index = HypergraphIndex.from_edges(edges, vectors)
    query = np.array([1, 0], np.float32)
    assert select(index, Question("?"), query)[0].tolist() == [0, 2]
    assert select(index, IRMA, query, Scoping(stay_inside=False))[0].tolist() == [1, 2]


@given(corpora())
def test_jaccard_is_that_of_the_entity_sets(edges: list[Hyperedge]) -> None:
    index = HypergraphIndex.from_edges(edges, exact_vectors(len(edges), 0))
    sets = [set(e.entities) for e in edges]
    expected = [[len(a & b) / len(a | b) for b in sets] for a in sets]
    assert np.allclose(index.jaccard(np.arange(len(edges))), expected, atol=1e-12)


@given(corpora(min_size=5), st.integers(0, 10**6))
def test_log_p_is_scaled_to_the_spread_of_rel(edges: list[Hyperedge], seed: int) -> None:
    index = HypergraphIndex.from_edges(edges, unit_vectors(len(edges), seed))
    rows, rel = select(index, Question("?"), unit_vectors(1, seed + 1)[0])
    n = len(rows)
    if n < 3:
        return
    model = Bilinear(24, seed)
    off = ~np.eye(n, dtype=np.bool_)
    pool = build_pool(index, rows, rel, model)
    assert pool.log_p[off].std() == pytest.approx(rel.std(), rel=1e-6)
    raw = build_pool(index, rows, rel, model, scale_transitions=False)
    assert np.exp(raw.log_p[off]).sum() == pytest.approx(n, rel=1e-5)


# --- the retriever --------------------------------------------------------------------

methods = st.sampled_from(["beam", "forward"])


@given(
    corpora(), hyperedges(), st.sampled_from([96, 72, 48, 24]), methods, st.integers(0, 10**6)
)
def test_a_later_fact_never_reaches_an_earlier_question(
    edges: list[Hyperedge], planted: Hyperedge, as_of: int, method, seed: int
) -> None:
    """Not only is it not returned: the answer is the same as if it had never been written."""
    edges = [edge(9000, lead=120), *edges]
    later = replace(
        planted, id="0000-planted", group=GROUP.key, static=False, lead=as_of - 12,
        lead_from=as_of + 24 if planted.family == 13 else None,
        entities=("p", "q", "horizon:T-24"), evidence="the future",
    )
    vectors = unit_vectors(len(edges) + 1, seed)
    question = replace(IRMA, as_of=as_of)

    def ask(corpus: list[Hyperedge], rows: np.ndarray) -> list[tuple[list[str], float]]:
        retriever = OrderAwareRetriever(
            HypergraphIndex.from_edges(corpus, rows), Bilinear(24, seed), method=method, width=4
        )
        found = retriever.retrieve(question, vectors[-1])
        return [([e.id for e in t.edges], t.score) for t in found]

    assert ask([later, *edges], np.vstack([vectors[-1:], vectors[:-1]])) == ask(
        edges, vectors[:-1]
    )


@given(corpora(), questions(), methods, st.integers(0, 10**6), st.randoms())
def test_one_question_has_one_answer(
    edges: list[Hyperedge], question: Question, method, seed: int, random
) -> None:
    vectors = unit_vectors(len(edges) + 1, seed)
    shuffled = list(range(len(edges)))
    random.shuffle(shuffled)
    answers = [
        OrderAwareRetriever(
            HypergraphIndex.from_edges([edges[i] for i in rows], vectors[rows]),
            Bilinear(24, seed), method=method, width=4, scoping=Scoping(top_k=3, limit=9),
        ).retrieve(question, vectors[-1])
        for rows in (list(range(len(edges))), shuffled)
    ]
    assert answers[0] == answers[1]


@given(corpora(min_size=4), questions(), methods, weights, st.integers(0, 10**6))
def test_trajectories_differ_and_stay_in_scope(
    edges: list[Hyperedge], question: Question, method, w: Weights, seed: int
) -> None:
    vectors = unit_vectors(len(edges) + 1, seed)
    index = HypergraphIndex.from_edges(edges, vectors[:-1])
    retriever = OrderAwareRetriever(index, weights=w, method=method, width=4, length=3)
    found = retriever.retrieve(question, vectors[-1])
    pool = retriever.pool(question, vectors[-1])
    ids = [[e.id for e in t.edges] for t in found]
    assert all(edge_overlap(a, b) <= 0.5 for a, b in itertools.combinations(ids, 2))
    assert len(found) >= min(3, len(pool) // 3)
    assert [t.score for t in found] == sorted((t.score for t in found), reverse=True)
    for trajectory in found:
        assert len(trajectory.relevance) == len(trajectory.edges) <= 3
        for member in trajectory.edges:
            group = Group.parse(member.group)
            assert question.storm in (None, group.storm)
            assert question.port in (None, group.port)


def test_an_unknown_group_has_no_evidence() -> None:
    index = HypergraphIndex.from_edges([edge(0)], exact_vectors(1, 0))
    retriever = OrderAwareRetriever(index)
    query = np.ones(16, np.float32)
    assert retriever.retrieve(replace(IRMA, port="galveston-tx"), query) == []
    assert len(retriever.retrieve(IRMA, query)) == 1


def test_an_empty_index_answers_nothing() -> None:
    index = HypergraphIndex.from_edges([], np.zeros((0, 4), np.float32))
    assert OrderAwareRetriever(index).retrieve(Question("?"), np.ones(4, np.float32)) == []


@pytest.mark.parametrize("query", [np.ones(3, np.float32), np.full(16, np.nan, np.float32)])
def test_a_query_of_another_kind_is_refused(query: np.ndarray) -> None:
    index = HypergraphIndex.from_edges([edge(0)], exact_vectors(1, 0))
    with pytest.raises(ValueError, match="query vector"):
        OrderAwareRetriever(index).retrieve(IRMA, query)


def test_only_what_is_returned_is_loaded() -> None:
    edges = [edge(i) for i in range(50)]
    index = HypergraphIndex.from_edges(edges, unit_vectors(50, 3))
    asked: list[int] = []

    def loader(rows) -> list[Hyperedge]:
        asked.extend(rows)
        return [edges[r] for r in rows]

    found = OrderAwareRetriever(replace(index, loader=loader), length=4).retrieve(
        IRMA, unit_vectors(1, 4)[0]
    )
    assert len(asked) == sum(len(t.edges) for t in found) == 12


def test_an_index_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="distinct"):
        HypergraphIndex.from_edges([edge(0), edge(0)], exact_vectors(2, 0))
    with pytest.raises(ValueError, match="vectors"):
        HypergraphIndex.from_edges([edge(0), edge(1)], exact_vectors(1, 0))
