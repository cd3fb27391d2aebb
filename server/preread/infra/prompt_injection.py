"""Find prompt injections: text that instructs an assistant, which no document for people needs.

Four things give such a text away, whatever it asks for. It sets earlier instructions aside; it
speaks to a program that reads it rather than to a person; it forges the marks by which a program
tells its instructions from its input; or it wants something kept from the user. Orders to people
("run the tests first") do not count. Quoted text is fenced wherever it is shown, so that a miss
does no harm; a text that is found here is not shown at all.
"""

import re

MAX_TEXT = 4000  # characters: twice what a fact may have

_ASSISTANT = (
    r"(?:(?:ai|coding|llm|autonomous|automated|large|language)[ -]){0,3}"
    r"(?:ais?|llms?|assistants?|agents?|(?:language )?models?|copilots?|chat-?bots?|bots?"
    r"|claude(?: code)?|chat-?gpt|gpt-?\d?|gemini|codex|cursor)"
)
# Readers that a text can address: several of them, or a product. Code calls its own parts "the LLM"
# and "the agent", and what these must do is a description.
_READERS = (
    r"(?:(?:ai|coding|llm|autonomous)[ -](?:agents|assistants|models|systems|bots|tools)"
    r"|ais|llms|(?:large )?language models|assistants|claude(?: code)?|chat-?gpt|gpt-?\d|copilot"
    r"|(?:any|an|every|each) (?:ai|coding|llm)(?:[ -](?:agent|assistant|model|bot|tool))?)"
)
_CLEARLY = rf"(?:{_READERS}|(?:ai|coding)[ -](?:agent|assistant)|ai|llm|assistant)"
# Not what they must be or have, and not in a clause: "prompts to which LLMs should not respond".
_MUST = (
    r"(?:(?:must|shall|should)(?: not)?|(?:is|are) (?:required|instructed|asked|told"
    r"|ordered|requested) to|please|will now|do not|never|always) (?!be\b|have\b|support\b)"
)
_IN_A_CLAUSE = "".join(
    rf"(?<!\b{word} )" for word in ("which", "what", "when", "how", "that", "where", "whether")
)
_SHOULD_READ = r"(?:reads?|reading|process(?:es|ing)?|sees?|seeing|pars(?:es?|ing)|summari[sz]\w+)"
_INSTRUCTIONS = (
    r"(?:instructions?|prompts?|directions?|directives?|guidelines?|guardrails?"
    r"|system messages?|safety (?:rules?|checks?))"
)
_EARLIER = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|other|original|all|any)"

_OVERRIDES = (
    (rf"\b(?:ignore|disregard|forget)\b(?: \w+){{0,3}}? "
    rf"(?:{_EARLIER}|your|the system|my)(?: \w+){{0,3}}? {_INSTRUCTIONS}\b"),
    # A program overrides prompts and bypasses checks of its own.
    (r"\b(?:override|bypass|discard|drop|cancel)\b (?:all |any )?"
    rf"(?:(?:of )?your|(?:previous|prior|above|earlier)|all safety)(?: \w+)? "
    rf"(?:{_INSTRUCTIONS}|checks?)\b"),
    (r"\b(?:ignore|disregard|forget|override|bypass)\b (?:all |any )?(?:of )?"
    r"(?:(?:your|the above) (?:rules?|context|training|policy|policies|constraints?|restrictions?)"
    r"|everything above|everything before|what you were told)\b"),
    rf"\byour (?:new|real|actual|updated) {_INSTRUCTIONS}\b",
    r"(?:^|[.:!;,(\"'] ?)new (?:system )?(?:instructions?|prompt)\s*:",
    r"\bfrom now on,? (?:act|respond|answer|reply|obey|you (?:are|will (?:act|answer|respond)))\b",
    (r"\byou are now (?:an? |the |in )?"
    r"(?:(?:\w+ )?(?:ai|assistant|dan|developer mode|jailbroken)|unrestricted)\b"),
)  # fmt: skip
_ADDRESSES = (
    rf"\b(?:if|when|since|because|as) you(?: are|'re) (?:an? |the )?{_ASSISTANT}\b",
    (rf"\b(?:any|all|every|each|dear|note to|hey|attention)[,:]? {_ASSISTANT},? "
    rf"(?:that|who|which|now|currently)? ?{_SHOULD_READ} (?:this|these|the following|it)\b"),
    rf"\b{_READERS} {_SHOULD_READ} (?:this|these)\b",
    (rf"\b(?:dear|attention|hey|hello|note (?:to|for)|important (?:to|for)) "
    rf"(?:all |any |the |every )?{_CLEARLY}\b"),
    (rf"(?:^|[.:!;,(] ?)(?:instructions?|message|orders?|task) (?:to|for) "
    rf"(?:all |any |the |every )?{_CLEARLY}\s*[:!]"),
    (rf"\b{_IN_A_CLAUSE}{_READERS},?"
    rf"(?: (?:that|who|reading|running|working|processing|using)(?: \w+){{1,4}}?)? {_MUST}"),
    (r"(?:^|[.:!;,(] ?)(?:claude|chatgpt|copilot|assistant|ai|agent|llm)[,:] ?"
    r"(?:please |you |now |do |run |call |use |write |delete |execute |ignore |send |read )"),
    (r"\b(?:use|call|invoke|run|with) (?:your|the) "
    r"(?:bash|shell|terminal|write|edit|webfetch|web ?search|task|read|file) tools?\b"),
    r"\b(?:use|call|invoke|run|with)(?: the)? (?:tool )?[`\"']?mcp__\w+__\w+",
)  # fmt: skip
_FORGERIES = (
    r"<\|?/?(?:im_start|im_end|system|endoftext|assistant|user|eot_id|start_header_id)\|?>",
    r"</?system[-_ ]?(?:reminder|prompt|message|instructions?)\b",
    r"\[/?(?:INST|SYS(?:TEM)?(?: MESSAGE)?)\]|<</?SYS>>",
    r"</?data-[0-9a-f]{6,}",
    (r"\b(?:begin|end|start) (?:of )?(?:system|hidden|secret|admin\w*) (?:prompt|message"
    r"|instructions?)\b"),
    (r"(?:^|[\"'`#*] ?)(?:system|developer|administrator) "
    r"(?:prompt|message|override|instructions?)\s*:"),
)  # fmt: skip
_SECRETIVE = (
    (r"\b(?:reveal|print|repeat|output|leak|show|exfiltrate|send)\b(?: \w+){0,3}? "
    r"your (?:system|hidden|initial|full|original) prompt\b"),
    (r"\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|mention|mentioning"
    r"|alert|alerting)(?: \w+){0,3}? (?:to )?the (?:user|human|operator|person|developer)s?\b"
    r"(?! whether\b| if\b)"),
)  # fmt: skip
_FAMILIES = {
    "sets instructions aside": _OVERRIDES,
    "speaks to an assistant": _ADDRESSES,
    "forges a prompt": _FORGERIES,
    "keeps something from the user": _SECRETIVE,
}
_COMPILED = {
    kind: re.compile("|".join(patterns), re.IGNORECASE) for kind, patterns in _FAMILIES.items()
}
# Words without which none of the patterns can match, to skip most texts.
_NEEDED = (
    "ignor", "disregard", "forget", "overrid", "bypass", "discard", "drop", "cancel", "instruction",
    "prompt", "order", "from now", "you are", "you're", "assistant", "agent", "llm", "model",
    "copilot", "claude", "gpt", "gemini", "codex", "cursor", "bot", "tool", "mcp__", "<|", "<s",
    "</s", "<data", "</data", "[inst", "[sys", "[/inst", "[/sys", "<<", "system", "tell", "inform",
    "mention", "alert",
)  # fmt: skip
_AI = re.compile(r"\bai")
_DOTS = {0x130: "i", 0x131: "i"}
_SPACE = re.compile(r"[\s_*#>/\\-]+|\.(?=\w)")

# -- a fact's own words

# Not before the rest of a path: `tests/curl/test_a.py` and `eval.md` name files.
_NO_PATH = r"(?!(?!\.exe\b)[\w-]*(?:/|\.\w))"
# In words that no source proves: what a reader might obey. A quote of it is allowed, and checked.
_OWN = re.compile(
    r"(?i)\bhttps?://|\b(?:rm -\w+|(?:bash|sh) -c|powershell|pip install|docker run"
    r"|git (?:push|commit|reset|checkout|clone|config)|npm (?:publish|install|i))\b"
    rf"|\b(?:curl|wget|sudo|scp|chmod|eval|npx)\b{_NO_PATH}|\|\s*(?:ba|z)?sh\b"
    r"|\byour (?:tools?|rules|instructions|permissions?|prompt|guidelines|settings)\b"
    r"|\b(?:bash|write|edit|webfetch|task) tool\b"
)
# A test command in double quotes: variables, a runner that is computed (`project.runners`), and its
# arguments, without shell syntax outside single quotes.
_RUN = re.compile(
    r"\"(?P<variables>(?:[A-Z_][A-Z0-9_]*=(?:'[^'\"]*'|[^\s\"'`;|&<>$]*) )*)"
    r"(?:npx (?:vitest run|vp test run|playwright test|jest|mocha|ava|tape?|jasmine|cypress run"
    r"|tsd|tstyche|react-scripts test)|(?:bun|deno|go) test|node --test)"
    r"(?P<arguments>(?: (?:'[^'\"]*'|[^\"'`;|&<>$\n])*)?)\""
)
_HARMLESS = re.compile(  # among its arguments: addresses of this machine, and folders
    r"\bhttps?://(?:localhost|127\.0\.0\.1)(?::\d+)?(?![\w.@:-])|(?<!\S)\./[\w./-]+"
)


def found(text: str) -> str:
    """How a text instructs an assistant, like "forges a prompt"; empty if it does not.

    Names are also read as separate words. Only the start of a long text is checked.
    """
    text = text[:MAX_TEXT]
    if not _may_have_any(same_case(text)):
        return ""
    forms = (text, _SPACE.sub(" ", text))
    return next(
        (kind for kind, one in _COMPILED.items() if any(map(one.search, forms))),
        "",
    )


def same_case(text: str) -> str:
    """A text as patterns that ignore case see it: for them, a Turkish i is an i, too."""
    if not text.isascii():
        text = text.translate(_DOTS).casefold()
    return text.lower()


def _may_have_any(text: str) -> bool:
    """Whether any pattern could match. Word by word is ten times as fast as one large pattern."""
    return any(word in text for word in _NEEDED) or _AI.search(text) is not None


def in_own_words(text: str) -> str:
    """The part of a fact's own words that a reader might take for an order; empty if none."""
    match = _OWN.search(_RUN.sub(_rest_of_run, text))
    return match[0] if match else ""


def _rest_of_run(match: re.Match[str]) -> str:
    """What is left to check of a test command: all but the runner and harmless arguments."""
    return _HARMLESS.sub(" ", f'"{match["variables"]} {match["arguments"]}"')
