"""What a call of a test is for, told by what it calls: to find, to wait, to replace, to act, or nothing of note."""

import re

DULL = frozenset(
    """
    len str int float list dict set tuple range print isinstance sorted enumerate zip map filter repr bool type
    super getattr hasattr any all min max sum open iter next format join append extend split strip items keys
    values get push pop test it describe expect Promise.resolve JSON.stringify JSON.parse console.log
    Object.keys Array.from require t.Run t.Helper t.Fatal t.Fatalf t.Errorf t.Error make fmt.Sprintf Some Ok Err
    vec assert assert_eq Error String Number Boolean test.describe test.step startswith endswith replace lower
    encode decode http.NewRequest httptest.NewRequest httptest.NewRecorder httptest.NewServer ServeHTTP
    """.split()
)
SELECT = re.compile(
    r"(?:^|\.)(getBy\w+|getAllBy\w+|findBy\w+|findAllBy\w+|queryBy\w+|locator|querySelector(?:All)?|get_by_\w+|find_elements?|cy\.get)$"
)
WAIT = re.compile(
    r"(?:^|\.)(wait\w*|waitFor\w*|wait_for\w*|sleep|poll|until|eventually|Eventually|advanceTimers\w*|useFakeTimers"
    r"|runAllTimers\w*|freeze_time|toPass|settled|tick|nextTick|flushPromises|act)$"
)
PATCH = re.compile(
    r"(?:^|\.)(setattr|setenv|delenv|setitem|patch(?:\.\w+)?|spyOn|spy|stubGlobal|mock|mockImplementation|mockReturnValue"
    r"|mockResolvedValue|mockRejectedValue|doMock|route|intercept|fulfill|respond|stub|stubEnv)$"
)
ASSERTING = re.compile(
    r"(?:^|\.)(assert\w*|raises|warns|fail|expect|to[A-Z]\w+|not|resolves|rejects|should)!?$|^(expect|assert|require)\b"
)
LINK = re.compile(r"->|::|\?\.")


def is_dull(callee: str) -> bool:
    name = dotted(callee)
    return (
        name in DULL
        or name.rpartition(".")[2] in DULL
        or bool(ASSERTING.search(name))
        or callee[:1] == "("
    )


def dotted(callee: str) -> str:
    """A callee with a point between its links, whatever the language writes there."""
    return LINK.sub(".", callee)


def kind_of(callee: str) -> str:
    for pattern, kind in ((SELECT, "select"), (WAIT, "wait"), (PATCH, "replace")):
        if pattern.search(dotted(callee)):
            return kind
    return "act"
