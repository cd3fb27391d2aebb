"""Marks of tests: what their names, decorators and runners say about them, as written."""

import re

# What is called to declare a test says how it is run: `it.skip`, `test.skipIf(slow)`, `xit`.
_STATE = re.compile(
    r"\.(?:skip|fixme|only|fail|fails|failing|todo|skipIf|runIf|slow|concurrent)\b(?:\([^()]*\))?"
)
_PENDING = re.compile(
    r"([xf](?:it|test|describe|context|specify|scenario|example|feature|should)|pending|skip|todo)\b"
)
# Decorators of a class that hold for its tests.
_INHERITED = re.compile(
    r"skip|ignore|disabled|xfail|todo|pending|\bmark\.|patch|slow|parametri[sz]e", re.IGNORECASE
)
# Names that decorators give values to are no fixtures; a patch without `new` gives one argument.
_PARAMETRIZED = re.compile(
    r"parametrize\(\s*(?:[\w.]+=)?(\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|'[^']*')"
)
_PATCH = re.compile(
    r"@(\w+\.)*patch(\.object)?\((?!.*\bnew(_callable)?=)(?!([^,(]+,){2}\s*[^=,]+[,)])"
)


def states_of(runner: str) -> list[str]:
    """The marks that what is called to declare a test carries in its name."""
    head = _PENDING.match(runner)
    return ([head[1]] if head else []) + [found[0] for found in _STATE.finditer(runner)]


def inherited(decorator: str) -> bool:
    """Whether a decorator of a class is a mark of each test in it."""
    return _INHERITED.search(decorator) is not None


def given_by(decorators: list[str], params: list[str]) -> list[str]:
    """What a test asks for, without what its decorators give it."""
    if not params or not decorators:
        return params
    given = {
        name
        for text in decorators
        for found in _PARAMETRIZED.findall(text)
        for name in _words(found)
    }
    patches = sum(1 for text in decorators if _PATCH.match(text))
    return [name for name in params[patches:] if name not in given]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
