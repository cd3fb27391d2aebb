"""The knowledge graph: derived from files, walked, drawn, and never more than they say."""

import json
import random
import re
import sqlite3
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from _evidence_project import commit, services, write
from _faces import FACES, State, answer, face
from conftest import Cli, git
from preread import check, facts
from preread.cli import graph_views
from preread.graph import drawing, from_code, reading, walks
from preread.graph.model import Edge, Node
from preread.graph.update import update
from preread.infra import db
from preread.layout import Layout
from preread.operations.knowledge.graph import GraphReply

pytestmark = pytest.mark.anyio
SHOP = "src/shop.py"
CODE = {
    SHOP: (
        "from src.prices import rounded\n\n\n"
        "def total(cart):\n    return rounded(sum(cart))\n\n\n"
        "def order(cart):\n    return total(cart)\n"
    ),
    "src/prices.py": "def rounded(amount):\n    return round(amount, 2)\n",
    "tests/test_shop.py": (
        "from src.shop import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
    ),
    "src/alone.py": "def unused():\n    return None\n",
}
KNOWLEDGE = """# Knowledge

## Decisions
- whole cents (said:ada@2026-11-01) <!-- id: aaaaaaaa; by: ada; replaced-by: bbbbbbbb -->
- tenths of a cent (said:ada@2026-11-22) <!-- id: bbbbbbbb; by: ada -->
"""
PATTERNS = """# Patterns: checkout

## Money
- sums are rounded once: `return rounded(sum(cart))` (src/shop.py:5)
- `order` only delegates (src/shop.py:8-9, ticket:SHOP-7)
- gone: `nothing` (src/gone.py:1)
"""


def history(root: Path) -> Path:
    """A small shop whose two modules always change together."""
    commit(root, CODE, "shop")
    for n in range(5):
        changed = {path: CODE[path] + f"# {n}\n" for path in (SHOP, "src/prices.py")}
        commit(root, changed, ("fix rounding, SHOP-7", "more")[n > 0])
    manifest = {"schema_version": 1, "feature": "checkout", "ticket": "SHOP-7"}
    return write(
        root,
        {
            ".project/context/checkout/patterns.md": PATTERNS,
            ".project/context/checkout/manifest.json": json.dumps(manifest),
            ".project/tickets/SHOP-7.md": "# SHOP-7\n\nRound once.\n",
            ".project/knowledge.md": KNOWLEDGE,
        },
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return history(tmp_path_factory.mktemp("graph") / "shop")


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", "--no-hardlinks", str(made), "shop")
    texts = {
        str(path.relative_to(made)): path.read_text()
        for path in made.rglob("*")
        if path.is_file() and ".git/" not in str(path) and ".cache" not in str(path)
    }
    return write(tmp_path / "shop", texts)


async def ask(root: Path, method: str, **params: object) -> State:
    done = await answer(root, {"method": method, "params": params})
    assert "error" not in done, done["error"]
    result: State = done["result"]
    return result


def current(root: Path) -> None:
    here = services(root)
    facts.index(here, check.check_unbudgeted)
    db.use(here.layout, lambda connection: update(here, connection))


def everything(root: Path) -> tuple[list[object], list[object]]:
    """All nodes and edges, by their ids; the graph brought up to date first."""
    current(root)
    sql = """SELECT s.key, e.kind, t.key, e.cited, e.state, e.confidence FROM edges e
        JOIN nodes s ON s.id = e.source JOIN nodes t ON t.id = e.target"""

    def read(connection):
        nodes = connection.execute("SELECT key, kind, name, path, line, state FROM nodes")
        return sorted(nodes.fetchall()), sorted(connection.execute(sql).fetchall())

    return db.use(services(root).layout, read)


def edges(root: Path) -> set[tuple[str, str, str]]:
    return {(row[0], row[1], row[2]) for row in everything(root)[1]}


def fact(root: Path, words: str) -> str:
    return f"fact:{facts.search(services(root), words, facts.Wanted())[0].id}"


# -- what is in the graph


def test_the_graph_has_what_the_files_say_and_nothing_else(root: Path) -> None:
    current(root)
    once, only, gone = (fact(root, words) for words in ("rounded once", "delegates", "gone"))
    newer = fact(root, "tenths")
    found = {edge for edge in edges(root) if edge[1] != "fixed-by"}
    [older] = {target for _, kind, target in found if kind == "supersedes"}
    knowledge = "document:.project/knowledge.md"
    feature, shop, prices = "feature:checkout", f"file:{SHOP}", "file:src/prices.py"
    test, tests = "test:tests/test_shop.py::test_total", "file:tests/test_shop.py"
    assert found == {
        (once, "belongs-to", feature), (only, "belongs-to", feature),
        (gone, "belongs-to", feature), ("ticket:SHOP-7", "belongs-to", feature),
        (newer, "belongs-to", knowledge), (newer, "supersedes", older),
        (once, "cites", shop), (once, "cites", f"symbol:{SHOP}#total"),
        (only, "cites", shop), (only, "cites", f"symbol:{SHOP}#order"),
        (only, "cites", "ticket:SHOP-7"), (gone, "cites", "file:src/gone.py"),
        (shop, "defines", f"symbol:{SHOP}#total"), (shop, "defines", f"symbol:{SHOP}#order"),
        (prices, "defines", "symbol:src/prices.py#rounded"),
        (f"symbol:{SHOP}#order", "calls", f"symbol:{SHOP}#total"),
        (f"symbol:{SHOP}#total", "calls", "symbol:src/prices.py#rounded"),
        (tests, "tests", shop),
        (prices, "changed-with", shop),
    }  # fmt: skip
    fixed = {edge[:2] for edge in edges(root) if edge[1] == "fixed-by"}
    assert fixed == {(shop, "fixed-by"), ("ticket:SHOP-7", "fixed-by")}
    nodes = {row[0]: (row[1], row[5]) for row in everything(root)[0]}
    assert nodes[older] == ("decision", "retired")
    assert test not in nodes  # one hop: nobody cites it


def test_each_edge_says_what_shows_it_and_how_sure_it_is(root: Path) -> None:
    rows = {row[:3]: row[3:] for row in everything(root)[1]}
    shop, total = f"file:{SHOP}", f"symbol:{SHOP}#total"
    assert rows[shop, "defines", total] == (f"{SHOP}:4-5", "computed", 0.95)
    assert rows[f"symbol:{SHOP}#order", "calls", total] == (f"{SHOP}:9", "computed", 0.7)
    cited, state, sure = rows[fact(root, "rounded once"), "cites", shop]
    assert (cited, state) == (f"{SHOP}:5", "quoted")
    assert 0.8 < sure < 0.9
    cited, _, sure = rows["file:src/prices.py", "changed-with", shop]
    assert (cited[:7], sure) == ("commit:", 1.0)


def test_a_test_that_a_fact_cites_is_related_to_what_it_calls_and_to_its_failures(
    root: Path,
) -> None:
    run = {
        "id": "r1", "at": 1_700_000_000.0, "runner": "pytest", "command": "pytest",
        "outcome": "failed", "failed": ["tests/test_shop.py::test_total"],
        "kind": "assertion", "message": "1 != 2", "targets": ["tests/test_shop.py"],
    }  # fmt: skip
    text = "# Existing tests: checkout\n\n## A\n- one sum (tests/test_shop.py::test_total)\n"
    write(
        root,
        {
            ".project/context/checkout/existing-tests.md": text,
            ".project/.state/results.jsonl": json.dumps(run) + "\n",
        },
    )
    found = edges(root)
    test = "test:tests/test_shop.py::test_total"
    assert (test, "tests", f"symbol:{SHOP}#total") in found
    assert (fact(root, "one sum"), "cites", test) in found
    assert (test, "failed-in", "failure:r1") in found


# -- it follows the files


def test_it_is_the_same_whether_it_was_made_at_once_or_step_by_step(root: Path) -> None:
    everything(root)
    layout = services(root).layout
    changes: list[dict[str, str]] = [
        {SHOP: CODE[SHOP] + "\n\ndef place(cart):\n    return order(cart)\n"},
        {".project/knowledge.md": KNOWLEDGE + "- `place` is new (src/shop.py:12)\n"},
        {"src/prices.py": "def cents(amount):\n    return amount\n"},
        {".project/context/cart/codebase.md": "# Codebase: cart\n\n## A\n- x (src/alone.py:1)\n"},
    ]
    for change in changes:
        write(root, change)
        step_by_step = everything(root)
        layout.db.unlink()
        assert everything(root) == step_by_step
    (layout.dossier("cart") / "codebase.md").unlink()
    (layout.dossier("cart")).rmdir()
    (root / "src/prices.py").unlink()
    step_by_step = everything(root)
    assert not any("alone" in row[0] or "cart" in row[0] for row in step_by_step[0])
    layout.db.unlink()
    assert everything(root) == step_by_step


def test_nothing_is_parsed_again_that_did_not_change(root: Path, monkeypatch) -> None:
    current(root)
    parsed: list[str] = []
    write_ = from_code._Code.write
    monkeypatch.setattr(
        from_code._Code, "write", lambda self: (parsed.append(self.path), write_(self))
    )
    current(root)
    assert parsed == []
    write(root, {"src/alone.py": "def other():\n    pass\n"})  # no fact cites it
    current(root)
    assert parsed == []
    write(root, {SHOP: CODE[SHOP] + "\n\ndef third():\n    pass\n"})
    current(root)
    assert parsed == [SHOP]


def test_only_what_facts_cite_is_in_it_however_large_the_project_is(root: Path) -> None:
    many = {f"src/other/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(300)}
    write(root, many)
    git(root, "add", "-A")
    nodes, _ = everything(root)
    assert not any("src/other" in row[0] for row in nodes)


def test_a_damaged_graph_is_made_again(root: Path) -> None:
    before = everything(root)
    path = services(root).layout.db
    path.write_bytes(b"no database " * 1000)
    assert everything(root) == before


# -- the operations


@pytest.fixture(params=FACES)
async def call(request: pytest.FixtureRequest, root: Path):
    async with face(request.param, root) as call:
        yield call


async def test_every_face_answers_alike(call) -> None:
    batch = [
        {"method": "query_knowledge_graph", "params": {"node": "checkout", "edges": ["belongs-to"]}},
        {"method": "get_node_details", "params": {"node": SHOP}},
        {"method": "knowledge.stats"},
        {"method": "knowledge.index"},
        {"method": "search_knowledge", "params": {"query": "", "kind": "pattern", "confidence": 0.8}},
    ]  # fmt: skip
    done = await call({"batch": batch})
    results = re.sub(r"</?data-[0-9a-f]{12}>", "", json.dumps(done["batch"]))  # MCP's marks
    near, node, stats, index, search = (one["result"] for one in json.loads(results))
    assert near["nodes"][0]["id"] == "feature:checkout"
    assert {one["kind"] for one in near["nodes"][1:]} == {"fact", "ticket"}
    assert {edge["kind"] for edge in near["edges"]} == {"belongs-to"}
    assert all(one["sources"] and "state" in one and "confidence" in one for one in near["nodes"])
    assert node["counts"]["cites"] == 2
    assert {edge["kind"] for edge in node["edges"]} >= {"defines", "tests", "changed-with"}
    assert stats["nodes"]["decision"] == 2  # one of them superseded
    assert stats["most_cited"][0] == {"node": node["node"], "facts": 2}
    assert [one["name"] for one in stats["orphans"]] == ["whole cents", "tenths of a cent"]
    assert index["nodes"] == sum(stats["nodes"].values())
    assert [fact["text"] for fact in search["facts"]] == [
        "sums are rounded once: `return rounded(sum(cart))`",
        "`order` only delegates",
    ]


async def test_a_path_is_one_of_the_shortest_and_follows_the_edges_asked_for(root: Path) -> None:
    found = await ask(root, "knowledge.query", node="ticket:SHOP-7", to="src/prices.py")
    ids = [one["id"] for one in found["nodes"]]
    assert (ids[0], ids[2:]) == ("ticket:SHOP-7", [f"file:{SHOP}", "file:src/prices.py"])
    assert len(found["edges"]) == 3
    calls = {"node": f"symbol:{SHOP}#order", "to": "symbol:src/prices.py#rounded"}
    found = await ask(root, "knowledge.query", **calls, edges=["calls"], direction="out")
    assert [one["name"] for one in found["nodes"]] == ["order", "total", "rounded"]
    back = {"method": "knowledge.query", "params": {**calls, "edges": ["calls"], "direction": "in"}}
    assert (await answer(root, back))["error"]["code"] == "E_NOT_FOUND"
    same = await ask(root, "knowledge.query", node=SHOP, to=SHOP)
    assert [one["id"] for one in same["nodes"]] == [f"file:{SHOP}"]


async def test_kinds_edges_depth_confidence_and_limit_bound_an_answer(root: Path) -> None:
    found = await ask(root, "knowledge.query", kinds=["decision"])
    states = {one["name"]: one["state"] for one in found["nodes"]}
    assert states == {"tenths of a cent": "said", "whole cents": "retired"}
    found = await ask(root, "knowledge.query", edges=["calls"])
    assert len(found["edges"]) == 2
    found = await ask(root, "knowledge.query", node="checkout", depth=2, kinds=["symbol"])
    assert {one["kind"] for one in found["nodes"][1:]} == {"symbol"}
    near = await ask(root, "knowledge.query", node="checkout", limit=2)
    assert (len(near["nodes"]), near["cut"]) == (3, True)
    sure = await ask(root, "knowledge.query", node=SHOP, confidence=0.9)
    assert {edge["kind"] for edge in sure["edges"]} == {"defines", "changed-with"}
    wide = await ask(root, "knowledge.query", node="checkout", depth=6, limit=1000)
    assert f"file:{SHOP}" in {one["id"] for one in wide["nodes"]}


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({}, "E_USAGE", "needs `node`"),
        ({"to": "checkout", "kinds": ["fact"]}, "E_USAGE", "needs `node`"),
        ({"node": "chekout"}, "E_NOT_FOUND", "no node `chekout`"),
        ({"node": "shop.p"}, "E_NOT_FOUND", "file:src/shop.py"),
        ({"node": "'; DROP TABLE nodes; --"}, "E_NOT_FOUND", "no node"),
        ({"node": "checkout", "depth": 7}, "E_USAGE", "depth"),
        ({"node": "checkout", "edges": ["likes"]}, "E_USAGE", "edges"),
    ],
)
async def test_a_wrong_question_is_answered_with_what_is_wrong(
    root: Path, params: State, code: str, words: str
) -> None:
    done = await answer(root, {"method": "knowledge.query", "params": params})
    assert done["error"]["code"] == code
    assert words in f"{done['error']['message']} {done['error']['hint']}"


async def test_a_new_test_of_a_cited_file_joins_the_graph_and_leaves_it(
    root: Path,
) -> None:
    await ask(root, "knowledge.index")
    write(root, {"tests/test_order.py": CODE["tests/test_shop.py"].replace("total", "order")})
    await ask(root, "knowledge.index")
    testing = {
        source
        for source, kind, target in edges(root)
        if (kind, target) == ("tests", f"file:{SHOP}")
    }
    assert testing == {"file:tests/test_shop.py", "file:tests/test_order.py"}
    (root / "tests/test_order.py").unlink()
    await ask(root, "knowledge.index")
    assert not any("test_order" in f"{source} {target}" for source, _, target in edges(root))


async def test_a_project_without_facts_has_an_empty_graph(tmp_path: Path) -> None:
    found = await ask(tmp_path, "knowledge.stats")
    assert found == {
        "nodes": {}, "edges": {}, "states": {}, "most_cited": [], "orphans": [], "orphaned": 0
    }  # fmt: skip


# -- the tree and the files


def test_an_edge_that_two_builds_show_is_one_line_of_the_tree() -> None:
    about = {"sources": ("a.py",), "state": "computed", "confidence": 0.95}
    nodes = [("feature:cart", "feature", "cart"), ("file:a.py", "file", "a.py"),
             ("symbol:a.py#add", "symbol", "add"), ("fact:1f", "fact", "it adds")]  # fmt: skip
    defines = ("file:a.py", "defines", "symbol:a.py#add")
    edges = [defines, defines, ("fact:1f", "cites", "file:a.py"),
             ("fact:1f", "belongs-to", "feature:cart")]  # fmt: skip
    reply = GraphReply(
        feature="cart",
        nodes=tuple(Node(id=id_, kind=kind, name=name, **about) for id_, kind, name in nodes),
        edges=tuple(Edge(source=a, kind=kind, target=b, **about) for a, kind, b in edges),
        cut=False,
        state="shown",
    )
    (tree,) = graph_views.graph(reply)
    assert tree.count("defines symbol add") == 1


def test_a_feature_is_shown_as_a_tree(cli: Cli, root: Path) -> None:
    done = cli("graph", "checkout", cwd=root)
    assert done.status == 0
    lines = done.out.split("\n")
    assert "checkout (3 facts)" in lines
    assert "├── ticket SHOP-7" in lines
    assert "├── src/shop.py  2 facts" in lines
    assert "│   ├── changes with src/prices.py  1.00" in lines
    assert sum("sums are rounded once" in line for line in lines) == 1
    cut = cli("graph", "checkout", "--limit", "3", cwd=root)
    assert "└── facts whose sources are beyond the limit" in cut.out.split("\n")
    assert cli("log", "--json", cwd=root).json["entries"] == []
    assert cli("graph", "nosuch", cwd=root).status == 1


def test_svg_and_graphml_have_every_node_and_are_recorded(cli: Cli, root: Path) -> None:
    shown = cli("graph", "checkout", "--json", cwd=root).json
    for name in ("out.svg", "out.graphml"):
        done = cli("graph", "checkout", "--output", name, cwd=root)
        assert done.status == 0, done.err
        assert f"wrote {name}: {len(shown['nodes'])} nodes" in done.out
    svg = ET.parse(root / "out.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert len(svg.findall(f"{space}g")) == len(shown["nodes"])
    assert len(svg.findall(f"{space}path")) == len(shown["edges"])
    places = [group.get("transform") for group in svg.findall(f"{space}g")]
    assert len(set(places)) == len(places)
    marked = ET.parse(root / "out.graphml").getroot()
    space = "{http://graphml.graphdrawing.org/xmlns}"
    assert {node.get("id") for node in marked.iter(f"{space}node")} == {
        node["id"] for node in shown["nodes"]
    }
    assert len(list(marked.iter(f"{space}edge"))) == len(shown["edges"])
    assert len(cli("log", "--json", cwd=root).json["entries"]) == 2
    refused = cli("graph", "checkout", "--output", "src/shop.py", cwd=root)
    assert (refused.status, "E_USAGE" in refused.err) == (2, True)


async def test_a_drawing_can_be_tried_and_is_for_people(root: Path) -> None:
    params = {"feature": "checkout", "output": "x.svg"}
    state = {"method": "knowledge.graph", "params": params, "options": {"dry_run": True}}
    [change] = (await answer(root, state))["result"]["changes"]
    assert "+<svg" in change["diff"]
    assert not (root / "x.svg").exists()
    refused = await answer(root, state | {"options": {}}, by="mcp:x")
    assert refused["error"]["code"] == "E_NOT_ALLOWED"


def test_no_name_can_break_out_of_a_drawing() -> None:
    name = "</text><script>alert(1)</script>\x00\x1b[2J\u202e\ud800\ufffe&\"'<!--]]>"
    nodes = tuple(
        Node(id=f"fact:{n}{name}", kind="fact", name=name, sources=(name,), state="quoted", confidence=1)
        for n in range(2)
    )  # fmt: skip
    edge = Edge(
        source=nodes[0].id, kind="cites", target=nodes[1].id, sources=(name,), state="quoted",
        confidence=1,
    )  # fmt: skip
    found = reading.Subgraph(nodes, (edge,))
    for text in (drawing.svg(found, name), drawing.graphml(found)):
        tree = ET.fromstring(text.encode())
        assert not [each for each in tree.iter() if each.tag.endswith("script")]
        assert not {"\x1b", "\u202e", "\x00"} & set(text)


# -- numbers, generously: this machine may be busy; bench/graph.py measures


def test_a_search_among_many_facts_is_quick(tmp_path: Path) -> None:
    lines = [f"- word{n % 97} number{n} common (src/a.py:1)" for n in range(3000)]
    knowledge = "# Knowledge\n\n## A\n" + "\n".join(lines) + "\n"
    root = write(tmp_path, {"src/a.py": "x = 1\n", ".project/knowledge.md": knowledge})
    current(root)
    begun, cpu = time.perf_counter(), time.process_time()
    assert facts.search(services(root), "word5 number102", facts.Wanted())[0].text.startswith(
        "word5 number102"
    )
    assert time.process_time() - cpu < 0.2, time.perf_counter() - begun
    before = services(root).layout.db.stat().st_mtime_ns
    current(root)
    assert services(root).layout.db.stat().st_mtime_ns == before


@pytest.mark.parametrize("seed", range(6))
def test_a_walk_of_two_hops_and_a_path_are_those_of_networkx(tmp_path: Path, seed: int) -> None:
    nx = pytest.importorskip("networkx")
    chance = random.Random(seed)
    size = chance.randint(2, 40)
    pairs = {(chance.randrange(size), chance.randrange(size)) for _ in range(60)}
    graph = nx.Graph(pairs)
    graph.add_nodes_from(range(size))
    nodes = [(n, f"n{n}", "symbol", f"n{n}", "", 0, "located", 1.0) for n in range(size)]
    edges = [(*pair, 1) for pair in pairs]

    def walked(connection: sqlite3.Connection) -> None:
        connection.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", nodes)
        connection.executemany(
            "INSERT INTO edges SELECT ?1, 'calls', ?2, ?3, '', 'located', 1.0", edges
        )
        page = reading.Page(size)
        for start in range(size):
            found = walks.around(connection, f"n{start}", [walks.EdgeFilter()] * 2, page)
            far = nx.single_source_shortest_path_length(graph, start, cutoff=2)
            assert {node.id for node in found.nodes} == {f"n{node}" for node in far}
            end = chance.randrange(size)
            way = walks.path(connection, f"n{start}", f"n{end}", walks.EdgeFilter(), page)
            length = way and len(way.nodes) - 1
            reachable = nx.has_path(graph, start, end)
            assert length == (nx.shortest_path_length(graph, start, end) if reachable else None)

    db.use(Layout(tmp_path.resolve()), walked)
