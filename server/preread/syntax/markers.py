"""Markers of tests, as written: from names, decorators and runner calls."""

import re

# Modifiers of the call that declares a test: `it.skip`, `test.skipIf(slow)`, `xit`.
_STATE = re.compile(
    r"\.(?:skip|fixme|only|fail|fails|failing|todo|skipIf|runIf|slow|concurrent)\b(?:\([^()]*\))?"
)
_PENDING = re.compile(
    r"([xf](?:it|test|describe|context|specify|scenario|example|feature|should)|pending|skip|todo)\b"
)
# Decorators of a class that apply to its tests.
_INHERITED = re.compile(
    r"skip|ignore|disabled|xfail|todo|pending|\bmark\.|patch|slow|parametri[sz]e", re.IGNORECASE
)
# Parameters set by decorators are no fixtures; a patch without `new` passes one argument.
_PARAMETRIZED = re.compile(
    r"parametrize\(\s*(?:[\w.]+=)?(\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|'[^']*')"
)
_PATCH = re.compile(
    r"@(\w+\.)*patch(\.object)?\((?!.*\bnew(_callable)?=)(?!([^,(]+,){2}\s*[^=,]+[,)])"
)


def states_of(runner: str) -> list[str]:
    """The markers in the name of the function that declares a test."""
    head = _PENDING.match(runner)
    return ([head[1]] if head else []) + [found[0] for found in _STATE.finditer(runner)]


def is_inherited(decorator: str) -> bool:
    """Whether a class decorator is a mark of each of its tests."""
    return _INHERITED.search(decorator) is not None


def without_injected(decorators: list[str], params: list[str]) -> list[str]:
    """A test's parameters without those set by its decorators."""
    if not params or not decorators:
        return params
    injected = {
        name
        for text in decorators
        for found in _PARAMETRIZED.findall(text)
        for name in _words(found)
    }
    patches = sum(1 for text in decorators if _PATCH.match(text))
    return [name for name in params[patches:] if name not in injected]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
