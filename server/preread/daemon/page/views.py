"""The views: the operations that each one calls, and its template."""

from itertools import groupby
from typing import Any

from preread.daemon.page.visit import Failed, Json, Visit
from preread.gates.feature_names import slug

MAX_NODES = 80  # of a drawn graph
MAX_FOUND = 12  # results of each kind in a search
# Explanations of the states of facts.
STATES = {
    "quoted": "What it quotes is in the lines that it cites.",
    "computed": "A rule derived it from the code, and can do so again.",
    "external": "An MCP server said it in the run that built this dossier.",
    "located": "The cited lines exist; whether they say this has not been checked.",
    "said": "Somebody said it, and nothing else proves it.",
    "unverified": "A person wrote it, and its sources do not say it (any more).",
}
Shown = tuple[str, dict[str, Any]]


async def dossiers(visit: Visit) -> Shown:
    return "dossiers.html", {"reply": await visit.ask("context.status")}


async def dossier(visit: Visit) -> Shown:
    feature = visit.given("feature")
    reply = await visit.ask("context.show", feature=feature, cited=True)
    status = await visit.ask("context.status", feature=feature)
    files = [
        (file, [(head, list(facts)) for head, facts in groupby(found, lambda one: one["section"])])
        for file, found in groupby(reply["cited"], lambda one: one["file"])
    ]
    values = {"reply": reply, "status": status["dossiers"][0], "files": files, "states": STATES}
    return "dossier.html", values


async def graph(visit: Visit) -> Shown:
    node = visit.given("node")
    if not node:
        stats = await visit.ask("knowledge.stats", limit=12)
        features = await visit.ask("knowledge.query", kinds=["feature", "ticket", "document"])
        return "graph.html", {"stats": stats, "features": features["nodes"]}
    found = await visit.ask("knowledge.query", node=node, depth=2, limit=MAX_NODES)
    names = {one["id"]: one["name"] for one in found["nodes"]}
    drawn = {
        "nodes": [{**one, "url": visit.url("/graph", node=one["id"])} for one in found["nodes"]],
        "edges": [one for one in found["edges"] if {one["source"], one["target"]} <= names.keys()],
    }
    center = found["nodes"][0]
    values = {"center": center, "found": found, "names": names, "drawn": drawn}
    return "around.html", values


async def builds(visit: Visit) -> Shown:
    listed = await visit.ask("builds.list")
    running = []
    for one in listed["builds"]:
        running += (await visit.ask("builds.list", feature=one["feature"]))["builds"]
    return "builds.html", {"running": running, "elsewhere": listed["elsewhere"]}


async def costs(visit: Visit) -> Shown:
    feature = visit.given("feature")
    params = {"feature": feature} if feature else {}
    return "costs.html", {"reply": await visit.ask("history.costs", **params), "feature": feature}


async def tests(visit: Visit) -> Shown:
    return "tests.html", {"reply": await visit.ask("context.failures", limit=200)}


async def gates(visit: Visit) -> Shown:
    return "gates.html", {"reply": await visit.ask("config.gated")}


async def memory(visit: Visit) -> Shown:
    every = visit.given("all") == "1"
    digest = await visit.ask("memory.digest", all=every)
    return "memory.html", {
        "digest": digest,
        "groups": groupby(digest["entries"], lambda one: one["collection"]),
        "every": every,
        "messages": (await visit.ask("session.messages"))["messages"],
        "sessions": (await visit.ask("session.who_is_here"))["sessions"],
    }


# The lists that the page shows: an answer of `search`, and the name of a list in it.
LISTS = (
    ("facts", "facts"), ("memory", "entries"), ("memory", "documents"), ("code", "files"),
    ("code", "tests"), ("calls", "entries"), ("messages", "messages"),
)  # fmt: skip


async def search(visit: Visit) -> Shown:
    query = visit.given("q").strip()
    if not query:
        return "search.html", {
            "query": "", "answers": {}, "costs": [], "nodes": [], "failed": [], "is_empty": False,
        }  # fmt: skip
    calls: dict[str, tuple[str, dict[str, object]]] = {
        "facts": ("knowledge.search", {"query": query, "limit": MAX_FOUND}),
        "memory": ("memory.recall", {"topic": query, "limit": MAX_FOUND}),
        "messages": ("session.messages", {"query": query, "limit": MAX_FOUND}),
        "nodes": ("knowledge.query", {"name": query, "limit": MAX_FOUND}),
        "calls": ("audit.log", {"query": query, "limit": MAX_FOUND}),
        "costs": ("history.costs", {"days": 400}),
        "code": (
            "context.evidence",
            {"feature": slug(query)[:64].strip("-") or "_project", "description": query[:500]},
        ),
    }
    answers: dict[str, Json] = {}
    failed = []
    for name, (method, params) in calls.items():
        try:
            answers[name] = await visit.ask(method, **params)
        except Failed as error:  # the other calls may still have results
            failed.append(str(error))
    code = answers.get("code", {})
    if code.get("thin"):  # most files are then listed for other reasons than the words
        code |= {name: [one for one in code[name] if one["lines"]] for name in ("files", "tests")}
    words = query.casefold().split()
    features = answers.get("costs", {}).get("features", ())
    costs = [one for one in features if all(word in one["name"] for word in words)]
    nodes = [one for one in answers.get("nodes", {}).get("nodes", ()) if one["kind"] != "fact"]
    is_empty = not (costs or nodes or any(answers.get(a, {}).get(name) for a, name in LISTS))
    found = {"query": query, "answers": answers, "costs": costs, "nodes": nodes}
    return "search.html", {**found, "failed": failed, "is_empty": is_empty}
