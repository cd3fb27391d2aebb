"""The calls in a message: how many there are, and whether a peer's scope permits them."""

from typing import Any

from preread.daemon.guard import MAX_CALLS
from preread.daemon.peers import Peer, Refused
from preread.daemon.tokens import includes
from preread.errors import PrereadError
from preread.operations import REGISTRY, dispatch


def check_scope(peer: Peer, given: dict[str, Any]) -> None:
    """Raises Refused if any method of a state is beyond the peer's scope."""
    if peer.is_local:
        return
    for method in _methods(given):
        try:
            operation = dispatch.find(REGISTRY, method)
        except PrereadError:
            continue  # running the state will report it
        if not includes(peer.scope, operation.effect):
            raise Refused(
                403,
                f"{operation.name} needs a token with the scope `{operation.effect}`.",
                www_authenticate=f'Bearer error="insufficient_scope", scope="{operation.effect}"',
            )


def calls_of(given: object) -> int:
    """The number of calls in a state, or in a JSON-RPC message or batch. Raises Refused."""
    count = len(_methods(given))
    if count > MAX_CALLS:
        hint = "Split them into several messages."
        raise Refused(413, f"There are more than {MAX_CALLS} calls in this message.", hint)
    return max(1, count)


def _methods(given: object) -> list[str]:
    """Every method that a state, or a batch of messages, could run, at any depth."""
    found, states = [], list(given) if isinstance(given, list) else [given]
    while states:
        state = states.pop()
        if isinstance(state, dict):
            if isinstance(state.get("method"), str):
                found.append(state["method"])
            states.append(state.get("then"))
            states += state["batch"] if isinstance(state.get("batch"), list) else []
    return found
