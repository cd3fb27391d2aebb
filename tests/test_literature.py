"""What documents name, how it is related, and the graph of both."""

import csv
import importlib.util
import io
import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree as ET

import anyio
import pytest

from _faces import answer
from _headless import headless
from _messages_api import MessagesAPI, text
from preread.builds.jobs import Caller, Jobs
from preread.documents.model import Document, Part
from preread.dossier import sources
from preread.errors import PrereadError
from preread.literature import extraction, measured, measures, network, rules
from preread.literature.extraction import Paper
from preread.operations import REGISTRY, shared_state
from preread.operations.literature import analyse
from preread.operations.registry import Context
from preread.services import Progress
from test_document_reading import services

pytestmark = pytest.mark.anyio
QUIET = Progress().tick

ONE = """# Clocks of the till

The till extends logical time. It uses the Bully algorithm of the Institute of Clocks, calls `tick_all()` and
reads TILL_PORT. POST /till/open answers E_TILL_CLOSED. We define a till as one drawer. The CAP theorem is old.

## References

[1] L. Lamport, "Time, Clocks, and the Ordering of Events", 1978. doi:10.1145/359545.359563
[2] A. Byron, "Rules of the drawer", 2020.
"""
TWO = "---\ntitle: Rules of the drawer\nauthors: Ada Byron\ndate: 2020-01-01\n---\n\n# Rules of the drawer\n\nThe CAP theorem matters.\n"


async def called(project: Path, method: str, **params: object) -> dict:
    reply = await answer(project, {"method": method, "params": params})
    assert "error" not in reply, reply["error"]
    return reply["result"]


@pytest.fixture
async def loaded(project: Path) -> Path:
    (project / "docs" / "one.md").write_text(ONE)
    (project / "docs" / "two.md").write_text(TWO)
    await called(project, "documents.load", paths=["docs/one.md", "docs/two.md"])
    (project / "words.toml").write_text('theories = ["CAP theorem"]\n')
    return project


async def test_entities_have_kinds_sources_that_resolve_and_a_threshold(loaded: Path) -> None:
    reply = await called(
        loaded, "extract_entities_academic", schema_path="words.toml", threshold=0.5
    )
    found = {(one["kind"], one["name"]) for one in reply["entities"]}
    assert found >= {
        ("METHOD", "Bully algorithm"), ("ORG", "Institute of Clocks"), ("SYMBOL", "tick_all()"),
        ("SETTING", "TILL_PORT"), ("ROUTE", "POST /till/open"), ("ERROR_CODE", "E_TILL_CLOSED"),
        ("PERSON", "Ada Byron"), ("THEORY", "CAP theorem"), ("WORK", "Rules of the drawer"),
    }  # fmt: skip
    tree = services(loaded).tree
    for one in reply["entities"]:
        assert one["confidence"] >= 0.5
        spans = [sources.resolve(sources.parse(source), tree) for source in one["sources"]]
        for span, line in zip(spans, one["lines"], strict=True):
            assert line or one["rule"] == "metadata"
            assert line is None or one["name"].split()[0] in span.lines[line - 1]
    assert reply["made"]["is_measured"] is True
    theory = next(one for one in reply["entities"] if one["kind"] == "THEORY")
    assert len(theory["sources"]) == 2
    sure = await called(loaded, "documents.entities", schema_path="words.toml")
    assert sure["entities"] == [one for one in reply["entities"] if one["confidence"] >= 0.8]
    assert len(sure["entities"]) < len(reply["entities"])


def test_a_number_in_brackets_cites_and_an_array_does_not() -> None:
    line = "We follow Cahill [3, 5–7] and set MediaBox [0 0 595 842]; Adya [12] did not."
    paper = Paper("a.md", Document((Part((line,)),)))
    people = {one.name for one in extraction.named(paper, [], QUIET) if one.kind == "PERSON"}
    assert people == {"Cahill", "Adya"}


def test_confidences_are_the_precision_on_the_labelled_sentences_that_were_held_out() -> None:
    place = Path(__file__).parents[1] / "bench" / "entities.py"
    spec = importlib.util.spec_from_file_location("entities", place)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    halves = [bench.labelled(half) for half in bench.HALVES]
    sentences = [part for half in halves for one in half for part in one.paper.document.parts
                 if part.lines[0] != "References"]  # fmt: skip
    assert len(sentences) >= 300
    assert bench.confident() == measured.COUNTS, "run: python bench/entities.py --write"
    right, seen = measured.COUNTS["theory"]
    assert right < seen
    assert measured.confidence("theory") == round(right / seen, 2)
    assert measured.confidence("setting-called") == measured.UNKNOWN  # it found nothing there


async def test_relations_say_which_sentence_shows_them(loaded: Path) -> None:
    reply = await called(
        loaded, "documents.relations", kinds=["cites", "extends", "defines"], threshold=0.5
    )
    found = {(one["source"], one["kind"], one["target"]) for one in reply["relations"]}
    assert found == {
        ("Clocks of the till", "cites", "Time, Clocks, and the Ordering of Events"),
        ("Clocks of the till", "cites", "Rules of the drawer"),
        ("Clocks of the till", "defines", "till"),
        ("The till", "extends", "logical time"),
    }
    quotes = {one["kind"]: one["quote"] for one in reply["relations"]}
    assert quotes["extends"] == "The till extends logical time."
    lines = {(one["kind"], one["target"]): one["lines"] for one in reply["relations"]}
    assert lines["defines", "till"] == [4]
    assert lines["cites", "Rules of the drawer"] == [4]  # of the second part
    together = await called(loaded, "documents.relations", kinds=["mentioned_with"], threshold=0.5)
    both = {(one["source"], one["target"]): one for one in together["relations"]}
    found = both["Bully algorithm", "Institute of Clocks"]
    assert found["quote"].startswith("It uses the Bully algorithm")
    assert ("Bully algorithm", "E_TILL_CLOSED") not in both  # not in one sentence


NAMES = {
    "entities": [
        {"kind": "CONCEPT", "name": "logical time", "quote": "extends  logical\ntime"},
        {"kind": "PERSON", "name": "Ada Lovelace", "quote": "Ada Lovelace wrote it"},  # is not there
        {"kind": "ORG", "name": "Bank of Clocks", "quote": "the Institute of Clocks"},
        {"kind": "GHOST", "name": "till", "quote": "The till"},
    ],
    "relations": [
        {"kind": "extends", "source": "The till", "target": "logical time",
         "quote": "The till extends logical time."},
        {"kind": "contradicts", "target": "everything", "quote": "The till extends logical time."},
    ],
}  # fmt: skip


async def test_a_model_is_believed_only_what_the_text_says_and_is_asked_once(
    loaded: Path, claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    environ = headless(claude, api, tmp_path)
    api.play([[text("They name clocks.")], [text(json.dumps(NAMES))]])  # prose is sent back

    async def ask(method: str, by: str = "person", **params: object) -> dict:
        given = {"method": method, "params": {"by": "model", "paths": ["docs/one.md"], **params}}
        return await answer(loaded, given, environ=environ, by=by)

    reply = (await ask("documents.entities"))["result"]
    assert reply["entities"] == [
        {"kind": "CONCEPT", "name": "logical time", "confidence": 0.8, "rule": "model",
         "sources": ["doc:docs/one.md#p1"], "lines": [3]}
    ]  # fmt: skip
    made = reply["made"]
    assert (made["dropped"], made["is_measured"]) == (4, False)
    assert made["model"]
    assert reply["cost_usd"] > 0
    asked = api.requests[0]
    assert set(asked.tools) <= {"Read", "Grep", "Glob"}
    assert "The till extends logical time." in asked.prompt
    ledger = loaded / ".project/.state/spending.jsonl"
    assert ledger.read_text().count("\n") == 1
    asked_before = len(api.requests)
    related = (await ask("documents.relations", kinds=["extends"]))["result"]
    assert [one["target"] for one in related["relations"]] == ["logical time"]
    built = (await ask("graph.build"))["result"]
    assert built["made"]["model"] == made["model"]
    assert (len(api.requests), ledger.read_text().count("\n")) == (asked_before, 1)
    api.play([[text("no")], [text("still no")]])
    (loaded / "docs" / "one.md").write_text(TWO)
    assert (await ask("documents.entities"))["error"]["code"] == "E_AGENT"
    environ["PREREAD_MONTH_USD"] = "0.5"  # less than one call may cost
    assert (await ask("documents.entities"))["error"]["code"] == "E_MONEY"
    environ["PREREAD_ALLOW"] = "read"
    refused = await ask("documents.entities", by="an agent")
    assert refused["error"]["code"] == "E_NOT_ALLOWED"


async def test_a_graph_is_built_measured_reported_and_exported(loaded: Path) -> None:
    built = await called(loaded, "build_knowledge_graph", schema_path="words.toml", threshold=0.5)
    again = await called(loaded, "graph.build", schema_path="words.toml", threshold=0.5)
    assert built == again
    ranks = await called(
        loaded, "analyze_cross_modal", graph=built["graph"], output_format="vectors"
    )
    assert len(ranks["rows"]) == built["nodes"]
    assert all(len(row["vector"]) == 3 for row in ranks["rows"])
    assert sum(row["value"] for row in ranks["rows"]) == pytest.approx(1, abs=1e-4)
    years = await called(loaded, "graph.analyse", graph=built["graph"], analysis_type="over_time")
    assert [row["name"] for row in years["rows"]] == ["2020"]
    report = await called(loaded, "academic_report", graph=built["graph"])
    tree = services(loaded).tree
    for number, source in enumerate(report["citations"], 1):
        assert f"\n{number}. {source}\n" in report["markdown"]
        assert sources.resolve(sources.parse(source), tree).lines
    assert [one["name"] for one in report["figures"]] == re.findall(
        r"!\[[^]]+\]\(([\w.-]+)\)", report["markdown"]
    )
    for one in report["figures"]:
        drawn = ET.fromstring(one["svg"])
        assert drawn.get("role") == "img"
        assert drawn.find("{*}title").text == one["title"]
        assert "Rules of the drawer" in drawn.find("{*}desc").text
        labels = " ".join(text.text for text in drawn.findall(".//{*}text"))
        numbers = {int(number) for number in re.findall(r"\[(\d+)\]", labels)}
        assert numbers
        assert numbers <= set(range(1, len(report["citations"]) + 1))
    texts = {
        form: (await called(loaded, "graph.export", graph=built["graph"], format=form))["text"]
        for form in ("graphml", "csv", "json-ld", "bibtex", "csl-json")
    }
    assert len(ET.fromstring(texts["graphml"]).findall(".//{*}node")) == built["nodes"]
    assert len(list(csv.reader(io.StringIO(texts["csv"])))) == built["edges"] + 1
    assert len(json.loads(texts["json-ld"])["@graph"]) == built["nodes"] + built["edges"] + 1
    assert "title = {Rules of the drawer}" in texts["bibtex"]
    assert json.loads(texts["csl-json"])[0]["DOI"] == "10.1145/359545.359563"


def shown(one: dict, made: dict) -> bool:
    """Whether something says how sure it is, by which rule, and where: a line of each source."""
    known = {*rules.NAMES, "document"} if made["rules"] == rules.EDITION else set()
    return (
        0 < one["confidence"] <= 1
        and one["rule"] in known
        and len(one["sources"]) == len(one["lines"]) > 0
        and all(source.startswith("doc:docs/") for source in one["sources"])
    )


async def test_every_answer_says_what_found_it_how_sure_it_is_and_where(loaded: Path) -> None:
    for method in ("documents.load", "documents.list"):
        for one in (await called(loaded, method))["documents"]:
            entry = one.get("entry", one)
            assert entry["read_by"]["reader"] == "plain.markdown"
            assert (entry["read_by"]["confidence"], entry["cite"]) == (1, f"doc:{one['path']}#p1")
    read = await called(loaded, "documents.read", path="docs/one.md")
    assert [(one["cite"], one["line"], one["rule"]) for one in read["references"]] == [
        ("doc:docs/one.md#p2", 3, "reference"), ("doc:docs/one.md#p2", 4, "reference")
    ]  # fmt: skip
    assert read["references"][0]["confidence"] == measured.confidence("reference")
    built = await called(loaded, "graph.build", threshold=0.5)
    made, graph = built["made"], {"graph": built["graph"]}
    assert set(made["documents"]) == {"docs/one.md", "docs/two.md"}
    assert sum(one["nodes"] for one in built["found_by"]) == built["nodes"]
    assert sum(one["edges"] for one in built["found_by"]) == built["edges"]
    for one in built["found_by"]:
        assert one["rule"] == "document" or one["confidence"] <= measured.confidence(one["rule"])
    for method, name in (("documents.entities", "entities"), ("documents.relations", "relations")):
        reply = await called(loaded, method, threshold=0.5)
        assert all(shown(one, reply["made"]) for one in reply[name])
    for measure in get_args(analyse.Measure):
        for form in ("table", "graph", "vectors"):
            reply = await called(
                loaded, "graph.analyse", analysis_type=measure, output_format=form, **graph
            )
            assert reply["rows"]
            assert all(shown(one, reply["made"]) for one in (*reply["rows"], *reply["edges"]))
            assert bool(reply["edges"]) == (form == "graph")
            assert all(bool(row["vector"]) == (form == "vectors") for row in reply["rows"])
    report = (await called(loaded, "graph.report", **graph))["markdown"]
    assert "The till extends logical time (0.57 by `extends-said`, line 3) [" in report
    assert "Bully algorithm (METHOD, PageRank " in report
    assert re.search(
        r"Bully algorithm \(METHOD, PageRank 0\.\d+; 0\.69 by `method`, line 3\)", report
    )


async def test_every_line_of_an_export_says_its_rule_and_where_it_is(loaded: Path) -> None:
    more = '[3] C. Doe, "Rules & #1", 2021. https://example.org/a_b#c\n'
    (loaded / "docs" / "one.md").write_text(ONE + more)
    graph = (await called(loaded, "graph.build", threshold=0.5))["graph"]
    exported = {}
    for form in ("graphml", "csv", "json-ld", "bibtex", "csl-json"):
        reply = await called(loaded, "graph.export", graph=graph, format=form)
        assert reply["made"]["rules"] == rules.EDITION
        exported[form] = reply["text"]
    root = ET.fromstring(exported["graphml"])
    for one in (*root.iter("{*}node"), *root.iter("{*}edge")):
        data = {it.get("key"): it.text for it in one.findall("{*}data")}
        assert data["rule"] in {*rules.NAMES, "document"}
        assert len(data["lines"].split()) == len(data["sources"].split()) > 0
    about = {it.get("key"): it.text for it in root.find("{*}graph").findall("{*}data")}
    assert about["made_by"] == rules.EDITION
    assert about["documents"].startswith("docs/one.md@")
    rows = list(csv.DictReader(io.StringIO(exported["csv"])))
    assert {"extends-said", "reference"} <= {row["rule"] for row in rows}
    assert all(row["made_by"] == rules.EDITION and row["lines"] for row in rows)
    linked = json.loads(exported["json-ld"])["@graph"]
    said = [one for one in linked if one["@type"] == "rdf:Statement"]
    assert {one["preread:rule"] for one in said} == {row["rule"] for row in rows}
    assert all(one["preread:lines"] and one["preread:sources"] for one in linked[:-1])
    assert "source = {doc:docs/one.md#p2},\n  line = {3}" in exported["bibtex"]
    assert "url = {https://example.org/a_b#c}" in exported["bibtex"]
    assert "title = {Rules \\& \\#1}" in exported["bibtex"]
    assert json.loads(exported["csl-json"])[0]["custom"] == {
        "confidence": "0.86", "rule": "reference", "made_by": rules.EDITION,
        "source": "doc:docs/one.md#p2", "line": "3",
    }  # fmt: skip


async def test_each_measure_and_export_tells_how_far_it_is_and_can_be_cancelled(
    loaded: Path, monkeypatch
) -> None:
    monkeypatch.setattr("preread.services.TICK", 0)
    monkeypatch.setattr("preread.literature.exports.ROUND", 1)
    graph = (await called(loaded, "graph.build", threshold=0.5))["graph"]

    async def report(message: str, done: float, total: float) -> None:
        told.append(message)
        if len(told) == stop_at:
            scope.cancel()

    measures = {
        "degree": "reading the graph", "bridges": "bridges: nodes",
        "pagerank": "PageRank: round", "betweenness": "betweenness: shortest paths",
        "communities": "communities: nodes that may change", "over_time": "reading the graph",
    }  # fmt: skip
    forms = {
        "graphml": "writing the edges", "csv": "writing the edges", "json-ld": "writing the records"
    }  # fmt: skip
    calls = [("graph.analyse", "analysis_type", *row) for row in measures.items()]
    calls += [("graph.export", "format", *row) for row in forms.items()]
    for method, name, value, said in calls:
        given = {"method": method, "params": {"graph": graph, name: value}}
        told, stop_at = [], 0
        assert "error" not in await answer(loaded, given, report=report)
        assert said in told
        told, stop_at = [], told.index(said) + 1
        with anyio.CancelScope() as scope:
            await answer(loaded, given, report=report)
        assert (scope.cancelled_caught, told[stop_at - 1 :]) == (True, [said])


async def test_one_long_document_tells_how_far_it_is(loaded: Path, monkeypatch) -> None:
    monkeypatch.setattr("preread.services.TICK", 0)
    told: list[tuple[str, float, float]] = []

    async def report(*progress: Any) -> None:
        told.append(progress)

    await answer(loaded, {"method": "documents.relations", "params": {}}, report=report)
    for what in ("what it names", "what it says", "what it mentions together"):
        parts = [(done, of) for message, done, of in told if message == f"docs/one.md: {what}"]
        assert parts[-1][0] == parts[-1][1] > 0


async def test_a_report_is_written_with_figures_and_exports(loaded: Path) -> None:
    (loaded / "docs" / "two.md").write_text(TWO.replace("CAP", "[CAP](x)"))
    params = {"folder": "out", "threshold": 0.5, "schema_path": "words.toml"}
    tried = await answer(
        loaded, {"method": "graph.save", "params": params, "options": {"dry_run": True}}
    )
    assert len(tried["result"]["changes"]) == 8
    assert not (loaded / "out").exists()
    reply = await called(loaded, "graph.save", **params)
    there = {path.name: path.read_text() for path in (loaded / "out").iterdir()}
    assert set(reply["files"]) == set(there)
    report = there["report.md"]
    assert "- Clocks of the till [1]\n- Rules of the drawer, 2020 [2]\n" in report
    assert "tick\\_all()" in report
    for name in re.findall(r"\]\((.+?)\)", report):
        ET.fromstring(there[name])
    around = ET.fromstring(there["figure-2.svg"])
    drawn = [one.text for one in around.findall("{*}text")]
    assert set(drawn) >= {"cites", "DOCUMENT", "METHOD", "Clocks of the till [1]"}
    assert "title = {Rules of the drawer}" in there["works.bib"]
    quiet = await called(loaded, "graph.build", paths=["docs/two.md"])
    told = (await called(loaded, "graph.report", graph=quiet["graph"]))["markdown"]
    assert "None that a document cites, defines, extends or contradicts anything" in told


async def test_communities_are_numbered_by_size_and_rows_are_in_their_order(loaded: Path) -> None:
    built = await called(loaded, "graph.build", threshold=0.5)
    rows = (
        await called(loaded, "graph.analyse", graph=built["graph"], analysis_type="communities")
    )["rows"]
    sizes = Counter(row["value"] for row in rows)
    assert [row["value"] for row in rows] == sorted(row["value"] for row in rows)
    assert sorted(sizes) == [float(number) for number in range(1, len(sizes) + 1)]
    assert [sizes[one] for one in sorted(sizes)] == sorted(sizes.values(), reverse=True)


async def test_progress_names_each_document_that_is_read_and_searched(loaded: Path) -> None:
    told: list[str] = []

    async def report(message: str, done: float, total: float) -> None:
        told.append(message)

    async with Jobs() as jobs:
        context = Context(loaded, {}, jobs, Caller(None, report))
        given = {"method": "documents.entities", "params": {}}
        assert (await shared_state.perform(REGISTRY, context, given, "client")).error is None
    assert list(dict.fromkeys(told)) == [
        "reading docs/one.md", "reading docs/two.md",
        "docs/one.md: what it names", "docs/two.md: what it names",
        "docs/one.md: what it says", "docs/two.md: what it says",
    ]  # fmt: skip


async def test_a_schema_restricts_kinds_and_edges(loaded: Path) -> None:
    (loaded / "words.toml").write_text(
        'kinds = ["WORK", "DOCUMENT"]\n[edges]\ncites = [["DOCUMENT", "DOCUMENT"]]\n'
    )
    built = await called(loaded, "graph.build", schema_path="words.toml")
    found = network.load(services(loaded).layout, built["graph"], QUIET)
    assert {one.kind for one in found.nodes} == {"WORK", "DOCUMENT"}
    assert [
        (found.nodes[one.source].name, one.kind, found.nodes[one.target].name)
        for one in found.edges
    ] == [("Clocks of the till", "cites", "Rules of the drawer")]
    (loaded / "words.toml").write_text("kinds = 3\n")
    reply = await answer(loaded, {"method": "graph.build", "params": {"schema_path": "words.toml"}})
    assert reply["error"]["code"] == "E_USAGE"
    with pytest.raises(PrereadError):
        network.load(services(loaded).layout, "../../secret", QUIET)


@pytest.mark.parametrize("seed", range(12))
def test_measures_are_those_of_networkx(seed: int) -> None:
    nx = pytest.importorskip("networkx")
    from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

    chance = random.Random(seed)
    size = chance.randint(1, 40)
    edges = [(chance.randrange(size), chance.randrange(size)) for _ in range(chance.randint(0, 70))]
    edges = [(a, b) for a, b in dict.fromkeys(edges) if a != b]
    directed, plain = nx.DiGraph(), nx.Graph()
    for graph in (directed, plain):
        graph.add_nodes_from(range(size))
        graph.add_edges_from(edges)
    ranks = measures.pagerank(measures.neighbours(size, edges, directed=True), QUIET)
    assert ranks == pytest.approx(list(_pagerank_python(directed).values()), abs=1e-9)
    around = measures.neighbours(size, edges, directed=False)
    assert [len(one) for one in around] == [count for _, count in plain.degree()]
    labels = measures.communities(around, QUIET)
    groups = {frozenset(node for node in range(size) if labels[node] == label) for label in labels}
    assert groups == {frozenset(one) for one in nx.community.label_propagation_communities(plain)}
    values, is_exact = measures.betweenness(around, QUIET)
    assert is_exact
    assert values == pytest.approx(list(nx.betweenness_centrality(plain).values()))
    assert measures.bridges(around, QUIET) == sorted(
        tuple(sorted(one)) for one in nx.bridges(plain)
    )


async def test_a_chain_of_calls_replays_to_the_same_results_or_says_what_changed(
    loaded: Path,
) -> None:
    calls = [
        {"method": "documents.load", "params": {"paths": ["docs/one.md", "docs/two.md"]}},
        {"method": "build_knowledge_graph", "params": {}},
        {"method": "graph.analyse", "params": {"graph": "$2.graph", "analysis_type": "degree"}},
    ]
    made = await called(loaded, "documents.workflow", tool_calls=calls)
    again = await called(loaded, "documents.workflow", workflow_id=made["workflow_id"])
    assert again["results"] == made["results"]
    assert again.get("changed", []) == []
    (loaded / "docs" / "two.md").write_text(TWO.replace("CAP", "PACELC"))
    later = await called(loaded, "documents.workflow", workflow_id=made["workflow_id"])
    assert later["changed"] == [
        "1 documents.load: docs/two.md changed", "2 build_knowledge_graph: docs/two.md changed",
        "3 graph.analyse: docs/two.md changed",
    ]  # fmt: skip
    last = {
        "method": "graph.analyse",
        "params": {"graph": {"$ref": "#/graph"}, "analysis_type": "degree"},
    }
    chain = await answer(loaded, {"method": "graph.build", "params": {}, "then": last})
    assert "error" not in chain
    chained = await called(
        loaded, "documents.workflow", workflow_id=chain["metadata"]["workflow_id"]
    )
    assert (len(chained["results"]), chained.get("changed", [])) == (2, [])
    assert chained["tool_calls"][1]["params"] == last["params"]
    (loaded / "docs" / "two.md").write_text(TWO.replace("CAP", "BASE"))
    shutil.rmtree(loaded / ".project" / ".cache" / "literature")
    moved = await called(loaded, "documents.workflow", workflow_id=chain["metadata"]["workflow_id"])
    assert moved["changed"] == [
        "1 graph.build: docs/two.md changed", "2 graph.analyse: docs/two.md changed",
    ]  # fmt: skip
    assert moved["results"][1] == (
        await called(
            loaded, "graph.analyse", graph=moved["results"][0]["graph"], analysis_type="degree"
        )
    )
    (loaded / "docs" / "two.md").rename(loaded / "two.md")
    gone = await called(loaded, "documents.workflow", workflow_id=chain["metadata"]["workflow_id"])
    assert gone["changed"] == [
        "1 graph.build: E_NOT_FOUND: There is no file docs/two.md.",
        "2 graph.analyse: E_NOT_FOUND: There is no file docs/two.md.",
    ]
    shutil.move(loaded / "docs" / "one.md", loaded / "one.md")
    none = await called(loaded, "documents.workflow", workflow_id=chain["metadata"]["workflow_id"])
    assert none["changed"] == [
        "1 graph.build: E_NOT_FOUND There is no file docs/one.md.",
        "2 graph.analyse: E_USAGE Call 1, which this one follows, failed.",
    ]
    (loaded / "one.md").rename(loaded / "docs" / "one.md")
    (loaded / "two.md").rename(loaded / "docs" / "two.md")
    await called(loaded, "documents.load")  # calls of a batch run at the same time
    batch = await answer(loaded, {"batch": [calls[0], {"method": "documents.list"}]})
    record = batch["metadata"]["workflow_id"]
    several = await called(loaded, "documents.workflow", workflow_id=record)
    assert [one["method"] for one in several["tool_calls"]] == ["documents.load", "documents.list"]
    listed = (await called(loaded, "documents.workflows"))["workflows"]
    assert {one["workflow_id"]: one["methods"] for one in listed} == {
        made["workflow_id"]: ["documents.load", "build_knowledge_graph", "graph.analyse"],
        chain["metadata"]["workflow_id"]: ["graph.build", "graph.analyse"],
        record: ["documents.load", "documents.list"],
    }
    assert all(one["documents"] == ["docs/one.md", "docs/two.md"] for one in listed)
    assert several.get("changed", []) == []
    other = {"method": "graph.build", "params": {}, "then": {"method": "context.status"}}
    for state in (other, last | {"params": {}}):  # not only documents; no chain
        assert "workflow_id" not in (await answer(loaded, state))["metadata"]
    for bad in (
        [{"method": "context.load"}],
        [{"method": "graph.analyse", "params": {"graph": "$1.graph"}}],
        [{"method": "graph.build", "after": 1}],
    ):
        reply = await answer(
            loaded, {"method": "documents.workflow", "params": {"tool_calls": bad}}
        )
        assert reply["error"]["code"] == "E_USAGE"
