"""The variables of a template: a documented, versioned list."""

from typing import NamedTuple

VERSION = 3  # raise it when a variable is removed or changes its meaning, not for new ones


class Variable(NamedTuple):
    """One row of the list in docs/prompt.md."""

    name: str
    type: str
    meaning: str


ROW = "each with `path`, `score`, `places` (`lines`, `symbols`)"
VARIABLES: tuple[Variable, ...] = (
    Variable(
        "version",
        "number",
        "of this list; raised when a variable is removed or changes its meaning",
    ),
    Variable(
        "mark",
        "text",
        "the mark of this prompt's data blocks: `<data-{{ mark }}`; it occurs in no outside text",
    ),
    Variable("feature", "text", "the feature's name, or `_project`"),
    Variable("is_project", "true or false", "whether it is the whole project"),
    Variable("ticket", "text", "the ticket's id; empty without one"),
    Variable("ticket_text", "outside text", "the ticket's text; empty if no file has it"),
    Variable("description", "outside text", "what the caller said it is about to write"),
    Variable("project_root", "text", "the project's absolute real path, where the builder works"),
    Variable("output_directory", "text", "the absolute real path of the folder for the drafts"),
    Variable("test_folders", "list of outside text", "folders of the feature's tests, best first"),
    Variable(
        "base_url",
        "outside text",
        "the tests' base URL as their configuration has it, with its place; or empty",
    ),
    Variable(
        "auth_strategy",
        "outside text",
        "the line that shows how the tests log in, with its place; or empty",
    ),
    Variable("has_pages", "true or false", "whether there are pages to test: selectors, log-in"),
    Variable(
        "evidence",
        "object",
        f"`documents`, `files` and `tests`, {ROW}; `commits`, each with `source`, `date`, "
        "`subject`, `body`, and of its most telling change `path`, `removed`, `added`; `findings`, "
        "each with `section`, `text`, `sources`, `score`; `notes`; `left_out`, how many of them "
        "and lines of text are left out because they contain secrets. Its texts are outside text",
    ),
    Variable("level", "text", "`standard` or `full`"),
    Variable(
        "budget",
        "object",
        "the dossier's maximum of `facts` and `tokens`, and `codebase_tokens` for codebase.md",
    ),
    Variable(
        "files",
        "list of objects",
        "what to draft, in this order: `name`, `title`, `holds` (what belongs in it)",
    ),
    Variable(
        "standing",
        "list of objects",
        "files that exist already and are not to be drafted: `name`, `text`",
    ),
    Variable(
        "changed",
        "outside text",
        "facts of an earlier draft whose lines have changed since, one per line; or empty",
    ),
    Variable(
        "servers",
        "list of objects",
        "MCP servers that may be searched: `name`, `tools` as the builder names them",
    ),
    Variable("seconds", "number", "how long the first round may take; the rest is for corrections"),
    Variable("max_turns", "number", "how many turns it may take"),
    Variable("look_ups", "number", "how many look-ups are usual at this level"),
)
# What belongs in each file, for the variable `files`.
CONTENTS = {
    "anti-patterns.md": "where documents, comments or messages and code disagree; tests that "
    "cannot fail; state that leaks from one call or test to the next; what was tried and taken "
    "back; helpers not to use, and what replaces them",
    "existing-tests.md": "tests to extend or reuse, with what they really assert; what no test "
    "would notice: branches, options, messages, states",
    "patterns.md": "proven ways of this feature's tests: set-up, calls, waits, stubs, asserts; "
    "from a test that passes, with the odd step that a newcomer would miss",
    "codebase.md": "the few values, routes, states and callers that a test of it depends on; "
    "interactions that no single line shows; no list of definitions",
    "failures.md": "failing reports, bugs fixed more than once, skipped and flaky tests, with "
    "their causes",
    "requirements.md": "the acceptance criteria of ticket and documents, and which of them no "
    "code or test meets",
    "summary.md": 'the index, short: "## Where" (what is where), "## Before you write" (what to '
    'know first: the worst traps and gaps), "## Run" (the command that runs these '
    'tests, in "double quotes")',
}
