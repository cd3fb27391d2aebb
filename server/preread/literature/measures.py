"""Measures of a graph in plain Python: PageRank, communities, betweenness, bridges.

Nodes are numbers. The results are those of networkx with its default arguments.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

Neighbours = Sequence[Sequence[int]]
Tell = Callable[
    [str, float, float], None
]  # reports a step, the part that is done, the whole; raises to stop
DAMPING, TOLERANCE, ROUNDS = 0.85, 1e-6, 100
EXACT_NODES = 2_000  # above this, betweenness is estimated from SAMPLE nodes
SAMPLE = 200


def neighbours(size: int, edges: Iterable[tuple[int, int]], *, directed: bool) -> list[list[int]]:
    """Each node's distinct neighbours, in the order of the edges, without loops."""
    found: list[dict[int, None]] = [{} for _ in range(size)]
    for source, target in edges:
        if source != target:
            found[source][target] = None
            if not directed:
                found[target][source] = None
    return [list(one) for one in found]


def pagerank(successors: Neighbours, tell: Tell) -> list[float]:
    """By power iteration; nodes without successors pass their rank on to all."""
    size = len(successors)
    ranks = [1.0 / size] * size if size else []
    dangling = [node for node, targets in enumerate(successors) if not targets]
    for number in range(ROUNDS):
        tell("PageRank: round", number, ROUNDS)
        lost = sum(ranks[node] for node in dangling)
        base = (1 - DAMPING + DAMPING * lost) / size if size else 0.0
        following = [base] * size
        for rank, targets in zip(ranks, successors, strict=True):
            if targets:
                share = DAMPING * rank / len(targets)
                for target in targets:
                    following[target] += share
        change = sum(abs(new - old) for new, old in zip(following, ranks, strict=True))
        ranks = following
        if change < size * TOLERANCE:
            break
    return ranks


def communities(around: Neighbours, tell: Tell) -> list[int]:
    """A label for each node, by semi-synchronous label propagation (Cordasco and Gargano, 2010)."""
    labels = list(range(len(around)))
    active = [bool(one) for one in around]
    classes = _colour_classes(around)
    while any(active):
        for nodes in classes:
            tell("communities: nodes that may change", sum(active), 0)
            for node in nodes:
                if active[node]:
                    active[node] = False
                    if _take_label(node, labels, around):
                        for other in around[node]:
                            active[other] = True
    return labels


def _take_label(node: int, labels: list[int], around: Neighbours) -> bool:
    """Give a node its neighbours' commonest label, ties to the highest; returns if it changed."""
    counts = Counter([labels[other] for other in around[node]])
    most = max(counts.values())
    if counts.get(labels[node]) == most:
        return False
    labels[node] = max(label for label, times in counts.items() if times == most)
    return True


def _colour_classes(around: Neighbours) -> list[list[int]]:
    """The nodes by colour, of a greedy colouring in order of falling degree."""
    colours = [-1] * len(around)
    classes: list[list[int]] = []
    for node in sorted(range(len(around)), key=lambda one: -len(around[one])):
        used = {colours[other] for other in around[node]}
        colour = next(one for one in count() if one not in used)
        colours[node] = colour
        if colour == len(classes):
            classes.append([])
        classes[colour].append(node)
    return classes


def betweenness(around: Neighbours, tell: Tell) -> tuple[list[float], bool]:
    """The share of shortest paths through each node (Brandes, 2001), and whether it is exact."""
    size = len(around)
    is_exact = size <= EXACT_NODES
    starts = range(size) if is_exact else range(0, size, max(1, size // SAMPLE))
    found = [0.0] * size
    for number, start in enumerate(starts):
        tell("betweenness: shortest paths", number, len(starts))
        _add_paths(start, around, found)
    pairs = (size - 1) * (size - 2)
    factor = size / max(1, len(starts)) / pairs if pairs > 0 else 0.0
    return [value * factor for value in found], is_exact


def _add_paths(start: int, around: Neighbours, found: list[float]) -> None:
    far, paths = [-1] * len(around), [0] * len(around)
    far[start], paths[start] = 0, 1
    order = [start]
    for node in order:  # grows in the loop
        behind, ways = far[node] + 1, paths[node]
        for other in around[node]:
            if far[other] < 0:
                far[other] = behind
                order.append(other)
            if far[other] == behind:
                paths[other] += ways
    passed = [0.0] * len(around)
    for node in reversed(order):
        ahead = far[node] + 1
        later = (other for other in around[node] if far[other] == ahead)
        passed[node] = paths[node] * sum((1 + passed[other]) / paths[other] for other in later)
        if node != start:
            found[node] += passed[node]


def bridges(around: Neighbours, tell: Tell) -> list[tuple[int, int]]:
    """The edges whose removal disconnects a component, lower node first, sorted."""
    entered = [-1] * len(around)  # when the search reached a node
    lowest = [0] * len(around)  # the earliest node it reaches without the edge to its parent
    clock = count()
    found = [
        edge
        for root in range(len(around))
        if entered[root] < 0
        for edge in _bridges_from(root, around, entered, lowest, clock, tell)
    ]
    return sorted(found)


def _bridges_from(
    root: int,
    around: Neighbours,
    entered: list[int],
    lowest: list[int],
    clock: Iterator[int],
    tell: Tell,
) -> Iterator[tuple[int, int]]:
    """The bridges of one component (Tarjan, 1974), without recursion."""
    entered[root] = lowest[root] = next(clock)
    stack = [(root, -1, iter(around[root]))]
    while stack:
        node, parent, rest = stack[-1]
        other = next(rest, None)
        if other is None:
            tell("bridges: nodes", entered[node], len(around))
            stack.pop()
            if parent >= 0:
                lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] > entered[parent]:
                    yield min(parent, node), max(parent, node)
        elif entered[other] < 0:
            entered[other] = lowest[other] = next(clock)
            stack.append((other, node, iter(around[other])))
        elif other != parent:
            lowest[node] = min(lowest[node], entered[other])
