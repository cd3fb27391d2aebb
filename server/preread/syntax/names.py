"""The names that a file defines, by one pattern per language: fast enough for a whole project.

An outline has more and is exact, but takes many times as long, so only files that a request is
about get one. Patterns start at the previous newline, which is fast to search for, and use
possessive quantifiers so that no text makes them backtrack for long.
"""

import re
from functools import cache
from itertools import islice
from typing import NamedTuple

from preread.languages import Language

_MAX_NAMES = 5_000  # of a file


class Names(NamedTuple):
    """The defined names and headings of a file, in line order, with repetitions."""

    defined: list[str]
    headings: list[str]


_STRING = r"(?:\"((?>(?:[^\"\\\n]|\\.)*))\"|'((?>(?:[^'\\\n]|\\.)*))'|`((?>(?:[^`\\\n]|\\.)*))`)"
_TITLED = rf"(?:it|test|specify|[fx]it|xtest)(?:\.[\w.]+)?(?:\([^()\n]*\))?\(\s*{_STRING}"
_MODIFIERS = (
    r"(?>(?:(?:pub(?:\([a-z]+\))?|public|private|protected|internal|open|override|final|abstract"
    r"|static|sealed|data|inline"
    r"|suspend|async|virtual|partial|extern(?: \"\w+\")?|unsafe|default|readonly|export|fileprivate"
    r"|(?:non)?mutating|const|constexpr|explicit|annotation|value|inner|companion|operator|infix"
    r"|tailrec|lateinit|declare"
    r"|synchronized|indirect|convenience|required|typedef|ref|expect|actual|@(?!interface\b)\w++(?:\([^()\n]*\))?"
    r"|class(?= (?:func|var|let)))\s++)*)"
)
# Line starts that precede a bracket but are no definition.
_NO = (
    r"(?!(?:if|for|while|switch|catch|return|else|do|new|throw|case|using|lock|foreach|when|await"
    r"|yield|delete|typeof"
    r"|goto|sizeof|super|this|fixed|elif|function|expect|test|it|describe|(?:before|after)(?:Each"
    r"|All))\b)"
)
_TYPES = r"<(?>(?:[^<>()\n;{}]++|<(?>(?:[^<>()\n;{}]++|<[^<>\n]*+>)*)>)*)>"
_GIVEN = r"\((?:[^;{}\n]*+\n){0,12}?[^;{}\n]*?\)"  # parameters, possibly over several lines
# C-like: one to six words, a name, parameters. A body or a semicolon has to follow.
_TYPED = (
    rf"{_NO}(?:(?>[A-Za-z_][\w:.]*+(?:{_TYPES})?[\[\]?*&,]*+)[ \t]++[*&]*+){{1,6}}?"
    rf"(?>(?:\w+(?:<[^<>\n]*>)?::)*)(~?\w++)[ \t]*+(?:<[^<>\n]*>)?"
    rf"{_GIVEN}[^;{{}}()=\n]{{0,200}}+\s*+"
)
_MAKER = rf"(?<=\s)([A-Z]\w*+)[ \t]*+{_GIVEN}[^;{{}}()=]{{0,200}}+\{{"  # a constructor
_FUNCTION = (
    r"(?:async\b|function\b|\([^()\n]*(?:\)[^=\n]*=>|$)|[\w$]++ *=>"
    r"|[\w.]*(?:memo|forwardRef|useCallback|observer)\b)"
)
_C = (
    r"(?<=typedef )[^;\n]*?(\w++)\)?(?:\([^()\n]*\))?;",
    (
        r"(?:struct|class|union|enum(?: class)?|namespace"
        r"|concept) (?:[A-Z_]++ )?(\w++)[^;(){=\n]*+(?:\{|$)"
    ),
    r"(?<=const )[\w:]+[ \w:*&<>]*?\b(\w++) *=",
    r"(?<=constexpr )[\w:]+[ \w:*&<>]*?\b(\w++) *[={]",
    r"(~\w++)\(",
    r"#[ \t]*define[ \t]+(\w++)[ \t(]+\S",
    r"(?:TEST_CASE|SCENARIO|SECTION|SUBCASE)(?:_\w*+)?\(\s*\"([^\"\n]*+)\"",
    r"(?:(?:TYPED_)?TEST(?:_[FPCG])?\(\s*\w+,|START_TEST\()\s*(\w++)",
    rf"{_TYPED}\{{",
    r"\}[ *]*(\w++)[ \t]*;",
    r"using (\w++) *=",
    # the return type on the line above, or K&R parameter types below
    r"(?<=\n)(\w++)[ \t]*\([^;{}()]{0,300}\)[^={}()]{0,300}\{",
)
_SCRIPT = (
    _TITLED,
    r"(?:function\b *\*?|class|interface|(?:const )?enum|namespace|type)\s+([\w$]++)",
    rf"(?:const|let|var) ([\w$]++)[^=\n]*= *(?:async )?{_FUNCTION}",
    (
        rf"(?:(?:get|set) |\*)?{_NO}(#?[A-Za-z_$][\w$]*+)\??(?:<[^<>\n]*>)?\((?>(?:[^()\n]"
        rf"|\([^()\n]*\))*)\)[^;{{()=\n]*+\{{"
    ),
    (
        rf"{_NO}([A-Za-z_$][\w$]*+) *[:=] *(?:async\b *)?(?:function\b|\([^()\n]*\)[^=\n]*=>"
        rf"|[\w$]++ *=>)"
    ),
    r"(?:(?<![ \t])|(?<=\nexport ))(?:const|let|var) ([\w$]++)",
)
_RUBY_BEFORE = r"(?:(?:private|public|protected|memoize|module_function|private_class_method) )?"
_DEFINITIONS = {
    "Python": (
        r"(?:async[ \t]+)?(?:def|class)[ \t]+(\w++)",
        r"(?<![ \t])([A-Za-z_]\w*+)[ \t]*(?::[^=\n]+)?=(?!=)",
        r"([A-Z][A-Z0-9_]*+)[ \t]*(?::[^=\n]+)?=(?!=)",
    ),
    "JavaScript TypeScript TSX Vue Svelte": _SCRIPT,
    "Go": (
        r"(?<![ \t])func (?:\([^)\n]*\) *)?(\w++)",
        r"(?<![ \t])(?:type|var|const) (\w++)",
        r"(?<![ \t]\t)(\w++)(?>(?:, *\w++)*) +(?:[\w.*\[\]{}]++ *+)?=[^=]",
        r"(?<![ \t]\t)(\w++) +(?:struct|interface|func)\b",
        r"\w++\.Run\(\"([^\"\n]*+)\"",
    ),
    "Java": (
        r"(?:class|@?interface|enum|record) (\w++)",
        rf"(?:{_TYPES}\s*+)?{_TYPED}(?:throws[^;{{}}]{{0,300}}+)?[{{;]",
        _MAKER,
        rf"(?<=final )[\w.]++(?:{_TYPES})?[\[\]]*+ ([A-Z][A-Z0-9_]*+) *=",
    ),
    "Kotlin": (
        r"(?:enum |fun )?(?:class|interface|object|typealias) (\w++)",
        r"fun (?:<[^>\n]*> *)?(?:[\w.<>?*, ]+\.)?(?:(\w++)|`([^`\n]++)`)",
        r"val ([A-Z][A-Z0-9_]*+)\b",
        r"va[lr] (?:[\w.<>?*]+\.)?(\w++)(?:: [^=\n]++)?\n?[ \t]*+get\(",
    ),
    "Rust": (
        r"(?:fn|struct|enum|trait|union|mod|type) ([A-Za-z]\w*+)",
        r"(?:(?<=const )|(?<=static )(?:mut )?)([A-Z]\w*+)",
        r"macro_rules! *(\w++)",
    ),
    "C C++": _C,
    "C#": (
        r"(?:class|interface|struct|record(?: struct| class)?|enum|delegate [\w<>\[\],.?]+) (\w++)",
        rf"{_TYPED}(?:where\b[^;{{}}=]{{0,300}}+)?(?:[{{;]|=>)",
        _MAKER,
        r"(?<=const )[\w<>\[\],.?]+ (\w++)",
        (
            rf"(?:[A-Za-z_][\w.]*+(?:{_TYPES})?[\[\]?,]*+[ \t]++){{1,2}}?(?>(?:\w+\.)*)(\w++)"
            rf"\s*+(?:=>|\{{\s*+(?>(?:(?:private|protected|internal) )*)(?:get|set|init)\b)"
        ),
    ),
    "Ruby": (
        rf"{_RUBY_BEFORE}def (?:\w+\.)?([\w?!=]++|[^\w\s(]++)",
        r"(?:class|module) (?>(?:\w+::)*)(\w++)",
        r"([A-Z]\w*+) *(?:\|\|)?=(?![=~>])",
        r"(?:define_method|scope|define_singleton_method)[ (]+:(\w++)",
        rf"(?:[fx]?(?:it|specify|example|scenario)|its|test|should)[ (]+{_STRING}",
    ),
    "PHP": (
        r"function &?(\w++)",
        r"(?:class|interface|trait|enum) (\w++)",
        r"(?<=const )(?:\w+ )?(\w++) *=",
        _TITLED,
    ),
    "Swift": (
        r"(?:class|struct|enum|protocol|extension|actor|typealias|associatedtype|func) ([\w.]++)",
        r"(init)[?!]? *[(<]",
        r"(?<=static )let (\w++)",
        r"(?<![ \t])let (\w++)",
    ),
}  # fmt: skip
_BEFORE = {
    "JavaScript TypeScript TSX Vue Svelte": (
        r"(?>(?:(?:export|default|declare|abstract|async|public|private|protected"
        r"|static|override|readonly|accessor) )*)"
    ),
    "C#": rf"(?>(?:\[[^\]\n]*\]\s*+)*){_MODIFIERS}",
    "C C++": rf"(?:template *<[^;{{}}()\n]*>\s*)?{_MODIFIERS}",
}
_NONE = r"(?![\n/).,;|=?:+>-])"  # characters that start no definition
_BY_LANGUAGE = {name: names for names in _DEFINITIONS for name in names.split()}


@cache
def _pattern(names: str) -> re.Pattern[str]:
    """Compiled on first use: compiling all takes longer than reading a changed file."""
    rules = "|".join(_DEFINITIONS[names])
    return re.compile(rf"\n[ \t]*+{_NONE}{_BEFORE.get(names, _MODIFIERS)}(?:{rules})", re.MULTILINE)


def named(language: Language, text: str) -> Names:
    """The names of definitions and tests as written."""
    if language.name not in _BY_LANGUAGE:
        from preread.syntax.plain import plain_outline

        symbols = plain_outline(language, text).symbols
        headings = [symbol.name for symbol in symbols if symbol.kind == "heading"]
        return Names([symbol.name for symbol in symbols if symbol.kind != "heading"], headings)
    pattern = _pattern(_BY_LANGUAGE[language.name])
    return Names(
        [
            found[found.lastindex or 0]
            for found in islice(pattern.finditer("\n" + text), _MAX_NAMES)
        ],
        [],
    )
