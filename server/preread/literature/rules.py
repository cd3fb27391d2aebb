"""The rules that find entities and relations in sentences. `measured` says how often each is right."""

# ruff: noqa: E501 - a pattern in one piece reads better
import errno
import re
from typing import NamedTuple

from preread.literature.model import EntityKind, RelationKind

EDITION = "rules-4"
# Up to four words, of which only the first may be a function word.
_STOP = r"(?:an?|and|are|as|at|by|for|from|if|in|is|of|on|or|than|that|the|to|when|which|while|with|without)\b"
TERM = rf"[A-Za-z][\w.-]*(?<![.-])(?: (?!{_STOP})[A-Za-z][\w.-]*(?<![.-])){{0,3}}"
_NAME = r"[^\W\d_a-z][\w’'-]+"  # a capitalized word; letters may have accents
_PROPER = r"(?!The\b)[^\W\d_a-z](?=[\w’'-]*[^\W\d_A-Z])[\w’'-]+"  # the same, not all capitals
_MARK = r"\[\d{1,3}(?:(?:, ?|[–-])\d{1,3})*\]"  # of a reference; not an array like `[0 0 1]`
_PERSON = rf"{_NAME}(?: {_NAME}){{1,2}}"
_CONSTANT = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_KEY = r"[A-Za-z][\w-]*(?:[._-]\w+)+"
_PATH = r"/(?:[\w{}:.~-]+/)*[\w{}-]+"
_ERRNO = "|".join(sorted(errno.errorcode.values()))
_FAILS = r"(?:abort|answer|code|end|error|fail|fault|logs?|raise|reject|report|refuse|return|see|stop)\w*"
_FILES = (r"(?:ac|afm|am|app|bat|c|cc|cfg|class|com|conf|cpp|css|csv|dat|dll|edu|el|eps|exe|fig|gif|gov|gz|h|html?|in|ini|io|jar|jpe?g|js|json|lock|log|md|mo|"
          r"net|o|org|otf|pdf|pf[ab]|pl|png|pot?|ps|py|rb|rd[as]|rst|sh|so|sql|svg|tar|tex|tgz|toml|ttf|txt|xml|ya?ml|zip)")  # fmt: skip
# The kind of a name by its last word.
_BODIES = (r"(?:Academy|Agency|Association|Authority|Board|Centre|Center|College|Commission|Committee|Consortium|Council|Department|Federation|"
           r"Foundation|Hospital|Institute|Laborator(?:y|ies)|Ministry|Organi[sz]ation|Society|University|Union|Users Group)")  # fmt: skip
_LEGAL = r"(?:AB|AG|B\.V\.|Corp\.?|Corporation|GmbH|Inc\.?|LLC|Ltd\.?|Oyj?|PLC|plc|S\.A\.|SE)"
_THEORIES = r"(?:conjecture|correspondence|hypothesis|inequality|law|lemma|paradox|principle|theorem|theory)"
_METHODS = (r"(?:algorithm|annealing|averaging|clustering|descent|equation|estimation|estimator|filter|hashing|heuristic|interpolation|iteration|"
            r"mechanism|normali[sz]ation|optimi[sz]ation|protocol|regression|replication|sampling|scheduling|sort|test|transform)")  # fmt: skip
_KNOWN_METHODS = r"(?:annealing|averaging|clustering|descent|hashing|optimi[sz]ation|regression|replication|sampling|scheduling|sort)"
_OPENERS = r"(?!(?:An?|After|All|And|Any|As|At|Both|But|By|Each|Every|For|If|In|It|Its|Many|Most|No|Of|On|Our|See|Since|Some|That|The|Their|There|These|They|This|Those|To|Use|We|What|When|With)\b)"
_INSIDE = r"(?<=[\w,(] )"  # not the first word of a sentence, which is always capitalized
_DEFINES = (r"(?:refers? to|denotes|means that|is defined as|"
            r"is the (?:ability|act|amount|art|degree|extent|practice|process|property|ratio|strategy|tendency) (?:of|that|to))")  # fmt: skip
_VAGUE = r"(?!(?:default|example|following|here|latter|only|other|result|second|similarly|there|third|value|where)\b)"

DEFINITIONS = tuple(map(re.compile, (
    rf"(?:^|[.!?] )An? {_VAGUE}({TERM}) (?:{_DEFINES}|is (?:an?|the) (?!extension|generali|subclass|variant|version)|describes )",
    rf"(?:^|[.!?] ){_OPENERS}(?i:{_VAGUE})({TERM}) {_DEFINES}\b",
    rf"\b[Ww]e (?:define|call) (?:an? |the )?({TERM}) (?:as|to be)\b",
    rf"\b[Ww]e call [^.]{{3,100}}? (?:an?|the) ({TERM})(?=[.,;]| if\b| of\b| when\b| that\b)",
)))  # fmt: skip


class EntityRule(NamedTuple):
    """One rule; a match's first group is the name. Code goes to the first rule that matches."""

    name: str
    kind: EntityKind
    pattern: re.Pattern[str]


class RelationRule(NamedTuple):
    """One rule. The groups are source and target; with one group, the document is the source."""

    name: str
    kind: RelationKind
    pattern: re.Pattern[str]


ENTITIES = (
    EntityRule("method-and-path", "ROUTE", re.compile(
        r"\b((?:GET|POST|PUT|PATCH|DELETE) /[\w/{}:.~-]*(?<![.:-]))")),
    EntityRule("path", "ROUTE", re.compile(
        rf"\b(?:[Rr]equests? (?:to|for)|[Ee]ndpoint|[Rr]oute|URL),? `?({_PATH})")),
    EntityRule("error-code", "ERROR_CODE", re.compile(
        rf"\b((?:{_ERRNO}|E(?:RR|RROR)?_[A-Z0-9_]+|[A-Z]+_ERR(?:OR)?_[A-Z0-9_]+|HTTP [45]\d\d))\b")),
    EntityRule("error-said", "ERROR_CODE", re.compile(
        rf"\b{_FAILS}(?: [a-z]+){{0,3}} `?((?:{_CONSTANT}|[A-Z]{{1,3}}-?\d{{4,5}}))\b")),
    EntityRule("option", "SETTING", re.compile(r"(?<![\w-])(--[a-z][a-z0-9]+(?:-[a-z0-9]+)*)")),
    EntityRule("upper-case", "SETTING", re.compile(rf"\b({_CONSTANT})\b(?!\()")),
    EntityRule("setting-said", "SETTING", re.compile(
        rf"\b(?:[Ss]et|[Ss]etting|[Oo]ption|[Pp]arameter|[Vv]ariable|[Kk]ey|[Hh]eader) `?({_KEY})\b(?!\()")),
    EntityRule("setting-called", "SETTING", re.compile(
        rf"`({_KEY})` (?:environment )?(?:header|key|option|parameter|setting|variable)\b")),
    EntityRule("call", "SYMBOL", re.compile(r"\b([A-Za-z_]\w*(?:[.:]{1,2}\w+)*\(\))")),
    EntityRule("code-span", "SYMBOL", re.compile(
        r"`(?![\w.]+\." + _FILES + r"`)"
        r"((?=\w*[A-Z_.:])[A-Za-z_]\w*(?:[.:]{1,2}\w+)*)`")),
    EntityRule("dotted", "SYMBOL", re.compile(
        rf"(?<![\w/.`-])([A-Za-z_]\w*(?:\.[a-z_]\w+)*\.(?!{_FILES}\b)[a-z_]\w+)\b(?![./]\w)")),
    EntityRule("camel-case", "SYMBOL", re.compile(r"(?<![\w/.`-])([A-Z][a-z]+(?:[A-Z][a-z]+)+)\b")),
    EntityRule("snake-case", "SYMBOL", re.compile(r"(?<![\w/.{-])([a-z]+(?:_[a-z0-9]+)+)\b")),
    EntityRule("organisation", "ORG", re.compile(
        rf"\b((?:{_PROPER} ){{1,5}}{_BODIES}\b(?: (?:of|for) (?:the )?{_PROPER}(?: (?:and )?{_PROPER}){{0,4}}| {_BODIES})?"
        rf"|{_BODIES} (?:of|for) (?:the )?{_PROPER}(?: (?:and )?{_PROPER}){{0,4}})")),
    EntityRule("legal-form", "ORG", re.compile(rf"\b((?:{_PROPER} ){{1,4}}{_LEGAL})(?!\w)")),
    EntityRule("et-al", "PERSON", re.compile(rf"\b({_PROPER})(?=(?:,? (?:and|&) {_NAME})? et al\b)")),
    EntityRule("cited", "PERSON", re.compile(
        rf"\b{_OPENERS}(?!(?:Appendix|Chapter|Equation|Figure|Page|References|Section|Table|Version)\b)({_PROPER})(?=(?:,? (?:and|&) {_NAME})? (?:{_MARK}|\((?:19|20)\d\d))")),
    EntityRule("thanked", "PERSON", re.compile(
        rf"\b(?:[Tt]hanks? to|[Tt]hank|[Gg]rateful to|[Rr]eported by|[Ww]ritten by|[Rr]eviewed by|[Ff]ixed by) ({_PERSON})(?! {_BODIES})")),
    EntityRule("theory", "THEORY", re.compile(
        rf"((?:\b[A-Z][\w-]+[’']s|\b[A-Z]{{2,}}|{_INSIDE}{_OPENERS}{_NAME})(?: [a-z-]+){{0,2}} {_THEORIES})\b(?! of)")),
    EntityRule("method", "METHOD", re.compile(rf"{_INSIDE}({_OPENERS}{_NAME}(?: [\w-]+)?? {_METHODS}s?)\b")),
    EntityRule("method-used", "METHOD", re.compile(
        rf"\b(?:apply|applies|by|use[ds]?|using|via|with)(?: the| an?)? ((?:(?!{_STOP}|this|these|other|such)[a-z-]+ ){{1,2}}{_KNOWN_METHODS})\b")),
    *(EntityRule("definition", "CONCEPT", pattern) for pattern in DEFINITIONS),
)  # fmt: skip
RELATIONS = (
    *(RelationRule("definition-said", "defines", pattern) for pattern in DEFINITIONS),
    RelationRule("extends-said", "extends", re.compile(
        rf"\b(?!{_STOP})({TERM})`?(?: class)?(?:,? (?:extends|builds (?:up)?on|inherits from|generali[sz]es|is based on|is derived from)|"
        rf"(?: is|,) an? (?:\w+ )?(?:extension|generali[sz]ation|subclass|variant|version) of) (?:an? |the )?`?(?!{_STOP})({TERM})")),
    RelationRule("contradicts-said", "contradicts", re.compile(
        rf"\b(?!{_STOP})({TERM}|[Tt]h(?:at|is)|[Ww]hich)`? (?<!not )(?:contradicts?|disproves?|refutes?|(?:is|are) (?:at odds|inconsistent) with) "
        rf"(?:an? |its |the )?`?(?!{_STOP})({TERM})")),
)  # fmt: skip
CODE = frozenset({"ROUTE", "ERROR_CODE", "SETTING", "SYMBOL"})
ELSEWHERE = ("metadata", "author", "reference", "schema")  # rules without a pattern here
NAMES = tuple(
    dict.fromkeys((*ELSEWHERE, *(rule.name for rule in ENTITIES), *(it.name for it in RELATIONS)))
)
