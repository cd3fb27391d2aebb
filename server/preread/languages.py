"""Which language a file is written in, and which role it plays, told from its path alone."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Role = Literal["source", "test", "support", "doc", "config", "data", "generated"]

_C_BLOCK = ("/*", "*/")
_XML_BLOCK = ("<!--", "-->")


@dataclass(frozen=True, slots=True)
class Language:
    """One row of the language table."""

    name: str
    suffixes: tuple[str, ...]  # lower case, with the dot; or a whole file name without one
    line_comment: str  # "" when the language has none
    block_comment: tuple[str, str] | None
    grammar: tuple[str, str] | None  # (module, function) of a tree-sitter wheel


LANGUAGES: tuple[Language, ...] = (
    Language("Python", (".py", ".pyi", ".pyw"), "#", None, ("tree_sitter_python", "language")),
    Language(
        "JavaScript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "//",
        _C_BLOCK,
        ("tree_sitter_javascript", "language"),
    ),
    Language(
        "TypeScript",
        (".ts", ".mts", ".cts"),
        "//",
        _C_BLOCK,
        ("tree_sitter_typescript", "language_typescript"),
    ),
    Language("TSX", (".tsx",), "//", _C_BLOCK, ("tree_sitter_typescript", "language_tsx")),
    Language("Go", (".go",), "//", _C_BLOCK, ("tree_sitter_go", "language")),
    Language("Rust", (".rs",), "//", _C_BLOCK, ("tree_sitter_rust", "language")),
    Language("Java", (".java",), "//", _C_BLOCK, ("tree_sitter_java", "language")),
    Language("Kotlin", (".kt", ".kts"), "//", _C_BLOCK, ("tree_sitter_kotlin", "language")),
    Language("C", (".c", ".h"), "//", _C_BLOCK, ("tree_sitter_c", "language")),
    Language(
        "C++",
        (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp"),
        "//",
        _C_BLOCK,
        ("tree_sitter_cpp", "language"),
    ),
    Language("C#", (".cs",), "//", _C_BLOCK, ("tree_sitter_c_sharp", "language")),
    Language(
        "Ruby",
        (".rb", ".rake", ".gemspec", "rakefile", "gemfile"),
        "#",
        ("=begin", "=end"),
        ("tree_sitter_ruby", "language"),
    ),
    Language("PHP", (".php", ".phtml"), "//", _C_BLOCK, ("tree_sitter_php", "language_php")),
    Language("Swift", (".swift",), "//", _C_BLOCK, ("tree_sitter_swift", "language")),
    Language("Shell", (".sh", ".bash", ".zsh", ".ksh", ".fish", ".bats"), "#", None, None),
    Language("PowerShell", (".ps1", ".psm1"), "#", ("<#", "#>"), None),
    Language("Batch", (".bat", ".cmd"), "::", None, None),
    Language("SQL", (".sql", ".psql", ".pgsql", ".pks", ".pkb"), "--", _C_BLOCK, None),
    Language("Protocol Buffers", (".proto",), "//", _C_BLOCK, None),
    Language("Thrift", (".thrift", ".fbs"), "//", _C_BLOCK, None),
    Language("GraphQL", (".graphql", ".graphqls", ".gql"), "#", None, None),
    Language("Prisma", (".prisma",), "//", None, None),
    Language("Cython", (".pyx", ".pxd", ".pxi"), "#", None, None),
    Language("Scala", (".scala", ".sc"), "//", _C_BLOCK, ("tree_sitter_scala", "language")),
    Language("Groovy", (".groovy",), "//", _C_BLOCK, None),
    Language("Dart", (".dart",), "//", _C_BLOCK, None),
    Language("Objective-C", (".m", ".mm"), "//", _C_BLOCK, None),
    Language("F#", (".fs", ".fsi", ".fsx"), "//", ("(*", "*)"), None),
    Language("OCaml", (".ml", ".mli"), "", ("(*", "*)"), ("tree_sitter_ocaml", "language_ocaml")),
    Language("ReScript", (".res", ".resi"), "//", _C_BLOCK, None),
    Language("Zig", (".zig",), "//", None, None),
    Language("Nim", (".nim", ".nims"), "#", ("#[", "]#"), None),
    Language("Crystal", (".cr",), "#", None, None),
    Language("D", (".d", ".di"), "//", _C_BLOCK, None),
    Language("Odin", (".odin",), "//", _C_BLOCK, None),
    Language("Gleam", (".gleam",), "//", None, None),
    Language("Haxe", (".hx",), "//", _C_BLOCK, None),
    Language("GDScript", (".gd",), "#", None, None),
    Language("CUDA", (".cu", ".cuh"), "//", _C_BLOCK, None),
    Language("Arduino", (".ino", ".pde"), "//", _C_BLOCK, None),
    Language(
        "Shader",
        (".glsl", ".vert", ".frag", ".comp", ".hlsl", ".metal", ".wgsl"),
        "//",
        _C_BLOCK,
        None,
    ),
    Language("Verilog", (".v", ".vh", ".sv", ".svh"), "//", _C_BLOCK, None),
    Language("VHDL", (".vhd", ".vhdl"), "--", None, None),
    Language("Assembly", (".asm", ".s"), ";", _C_BLOCK, None),
    Language("Fortran", (".f", ".for", ".f90", ".f95", ".f03", ".f08"), "!", None, None),
    Language("Pascal", (".pas", ".dpr", ".lpr"), "//", ("{", "}"), None),
    Language("Ada", (".adb", ".ads"), "--", None, None),
    Language("COBOL", (".cob", ".cbl", ".cpy"), "*>", None, None),
    Language("Solidity", (".sol",), "//", _C_BLOCK, None),
    Language("Move", (".move",), "//", _C_BLOCK, None),
    Language("Cairo", (".cairo",), "//", None, None),
    Language("Apex", (".apex", ".trigger"), "//", _C_BLOCK, None),
    Language("Visual Basic", (".vb",), "'", None, None),
    Language("Lua", (".lua",), "--", ("--[[", "]]"), ("tree_sitter_lua", "language")),
    Language("Perl", (".pl", ".pm"), "#", None, None),
    Language("R", (".r",), "#", None, None),
    Language("Julia", (".jl",), "#", ("#=", "=#"), None),
    Language("Elixir", (".ex", ".exs"), "#", None, ("tree_sitter_elixir", "language")),
    Language("Erlang", (".erl", ".hrl"), "%", None, None),
    Language("Haskell", (".hs", ".lhs", ".purs"), "--", ("{-", "-}"), None),
    Language("Elm", (".elm",), "--", ("{-", "-}"), None),
    Language("Lean", (".lean",), "--", ("/-", "-/"), None),
    Language("Clojure", (".clj", ".cljs", ".cljc"), ";", None, None),
    Language("Lisp", (".el", ".lisp", ".scm", ".ss", ".rkt"), ";", None, None),
    Language("Tcl", (".tcl",), "#", None, None),
    Language("Vim script", (".vim",), '"', None, None),
    Language("AWK", (".awk",), "#", None, None),
    Language("CoffeeScript", (".coffee",), "#", ("###", "###"), None),
    Language("Nix", (".nix",), "#", _C_BLOCK, None),
    Language("Starlark", (".bzl", ".star"), "#", None, None),
    Language("Rego", (".rego",), "#", None, None),
    Language("Puppet", (".pp",), "#", None, None),
    Language("Jsonnet", (".jsonnet", ".libsonnet"), "//", _C_BLOCK, None),
    Language("CUE", (".cue",), "//", None, None),
    Language("Bicep", (".bicep",), "//", _C_BLOCK, None),
    Language("HTML", (".html", ".htm", ".xhtml"), "", _XML_BLOCK, None),
    Language("Vue", (".vue",), "//", _XML_BLOCK, None),
    Language("Svelte", (".svelte",), "//", _XML_BLOCK, None),
    Language("Astro", (".astro",), "//", _XML_BLOCK, None),
    Language("Jinja", (".j2", ".jinja", ".jinja2"), "", ("{#", "#}"), None),
    Language("Twig", (".twig", ".liquid", ".njk"), "", ("{#", "#}"), None),
    Language("Handlebars", (".hbs", ".handlebars", ".mustache"), "", ("{{!", "}}"), None),
    Language("ERB", (".erb", ".ejs", ".eex", ".heex", ".leex"), "", ("<%#", "%>"), None),
    Language("JSP", (".jsp", ".jspx", ".ftl", ".vm"), "", ("<%--", "--%>"), None),
    Language("Razor", (".cshtml", ".razor", ".vbhtml"), "", ("@*", "*@"), None),
    Language("Smarty", (".tpl",), "", ("{*", "*}"), None),
    Language("XAML", (".xaml", ".axaml"), "", _XML_BLOCK, None),
    Language("QML", (".qml",), "//", _C_BLOCK, None),
    Language("Haml", (".haml", ".slim", ".pug", ".jade"), "", None, None),
    Language("CSS", (".css", ".scss", ".sass", ".less", ".styl"), "", _C_BLOCK, None),
    Language("YAML", (".yml", ".yaml"), "#", None, None),
    Language("TOML", (".toml",), "#", None, None),
    Language("JSON", (".json", ".jsonc", ".json5"), "//", _C_BLOCK, None),
    Language("Markdown", (".md", ".mdx", ".markdown"), "", _XML_BLOCK, None),
    Language("reStructuredText", (".rst",), "", None, None),
)

_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
_PROSE_AND_DATA = frozenset({"YAML", "TOML", "JSON", "Markdown", "reStructuredText"})
_CODE = frozenset(language.name for language in LANGUAGES) - _PROSE_AND_DATA

# What evidence leaves out unless it is asked for, told from the path: folders by their names, files
# by theirs.
_VENDORED = (
    "node_modules vendor vendored _vendor third_party thirdparty bower_components site-packages"
    " .venv venv .tox .yarn"
)
_GENERATED = (
    "dist build out .next .nuxt .output coverage htmlcov target __generated__ generated"
    " __snapshots__ __pycache__"
)
_OUTPUT = frozenset(
    "dist build out coverage target".split()
)  # in a folder `src` they are packages like others
_FOLDERS = dict.fromkeys(_VENDORED.split(), "vendored") | dict.fromkeys(
    _GENERATED.split(), "generated"
)
_FILES = re.compile(
    r"(?P<minified>\.min\.(js|css|mjs)$|\.bundle\.js$|\.map$)"
    r"|(?P<lock>-lock\.(json|yaml)$|\.lock$|\.lockb?$|^go\.sum$|^npm-shrinkwrap\.json$)"
    r"|(?P<generated>\.snap$|\.pb(\.gw)?\.go$|_pb2(_grpc)?\.pyi?$|\.pb\.(cc|h)$|\.generated\.\w+$"
    r"|_generated\.\w+$"
    r"|\.gen\.\w+$|\.g\.(cs|dart)$|^zz_generated)",
    re.IGNORECASE,
)
# What generators write into a comment at the top of a file that nobody is to edit.
_HEADER = re.compile(
    r"^[ \t]*(?:#|//|--|;|%|\*|<!--|/\*|\"{3}|\(\*)[^\n\w@]*(?:@generated\b"
    r"|this (?:file|code|module|class) (?:is|was|has been) auto(?:-|matically )?generated\b"
    r"|(?:[^\n]{0,80}\b)?generated\b[^\n]{0,160}(?:\n[^\n]{0,20})?\bdo not (?:edit|modify)\b"
    r"|(?:[^\n]{0,40}\b)?do not (?:edit|modify)\b[^\n]{0,80}(?:\n[^\n]{0,20})?\bgenerated\b)",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD = 1_000  # characters
_PACKED = (".js", ".mjs", ".cjs", ".css")
_LONG_LINES, _MUCH = (
    250,
    4_000,
)  # characters: people's lines are shorter on the average, once there is much
_TEST_FILE = re.compile(
    r"^tests?\.py$|^test_.*\.pyi?$|_test\.(py|go|rs|rb|php|exs|dart)$|_tests?\.(rs|py)$"
    r"|^(test|tst)[-_].*\.(c|cc|cpp|cxx|rb)$|[-_](tests?|unittests?|spec)\.(c|cc|cpp|cxx)$"
    r"|[.\-_](test|tests|spec|e2e|cy|e2e-spec|test-d)\.[cm]?[jt]sx?$|^(test|spec)\.[cm]?[jt]sx?$"
    r"|_spec\.rb$|^spec_(?!helper\.).*\.rb$|\.bats$|\.setup\.[cm]?[jt]s$",
)
# Case matters here: "Latest.java" and "Manifest.kt" are no tests.
_TEST_CLASS_FILE = re.compile(
    r"(Test|Tests|TestCase|IT|Spec|Specs)\.(java|kt|kts|cs|php|swift|scala|groovy)$"
    r"|^Test[A-Z].*\.(java|kt)$"
)
_TEST_PROJECT = re.compile(
    r"\.(unit|integration|functional)?(tests?|specs)(\.|$)"
)  # `Shop.Tests`, of .NET
_TEST_IN_PROJECT = re.compile(r"(Tester|Fixture|Facts)\.cs$")
_TEST_FOLDERS = frozenset(
    "test tests testing __tests__ __mocks__ __fixtures__ spec specs e2e e2e-tests "
    "integration-tests cypress playwright"
    " integration_tests functional-tests androidtest unittest unittests test-utils test_utils "
    "testdata"
    " testsuite testsuites".split()
)
# `ktor-client-tests`; singular may be a product for testing. Case matters in the second: Gradle's
# `src/commonTest`.
_NAMED_FOR_TESTS = re.compile(r"[-_.](tests|specs)$")
_SOURCE_SET = re.compile(r"(^|/)src/[a-z]\w*Tests?/")
_SUPPORT_FOLDERS = frozenset(
    "fixtures fixture helpers helper utils util support mocks __mocks__ __fixtures__ stubs "
    "factories pages"
    " page-objects page_objects pageobjects pom setup commands lib common shared".split()
)
_SUPPORT_FILE = re.compile(
    r"^conftest\.py$|^(jest|vitest|test|tests|playwright|cypress|global)[.\-_]?(setup|teardown"
    r"|utils?|helpers?)\b"
    r"|^(setup|teardown)[-_]?tests?\b|^(spec_helper|rails_helper|test_helper)\.\w+$"
    r"|[-_]test[-_](utils?|helpers?)\.\w+$|\.(po|page|fixture|fixtures|mock|mocks"
    r"|stub)\.[cm]?[jt]sx?$",
    re.IGNORECASE,
)
_CONFIG_FILE = re.compile(
    r"^\..*rc(\.\w+)?$|\.config\.[cm]?[jt]sx?$|\.config\.\w+\.[cm]?[jt]s$|^(dockerfile|makefile"
    r"|justfile|procfile|jenkinsfile)\b"
    r"|\.(toml|ya?ml|ini|cfg|conf|properties|env|editorconfig|gradle|tf|hcl|cmake|mk)$|^\.env"
    r"|^\.git\w+$|^\.\w+ignore$"
    r"|^(package|tsconfig|turbo|nx|lerna|composer|angular|deno|jsconfig|vercel"
    r"|biome)(\.[\w.\-]+)?\.jsonc?$|^go\.(mod|work)$|^setup\.py$"
    r"|^requirements.*\.txt$|^(gemfile|rakefile|cmakelists\.txt|pom\.xml|noxfile\.py|gulpfile\.js"
    r"|gruntfile\.js)$",
    re.IGNORECASE,
)
_DOC_FILE = re.compile(
    r"\.(md|mdx|markdown|rst|adoc|asciidoc|org|pdf|docx?|odt|tex)$"
    r"|^(readme|changelog|changes|license|licence|authors|contributing|copying|notice|history"
    r"|news)(\.\w+)?$",
    re.IGNORECASE,
)


@lru_cache(maxsize=65536)
def language_of(path: str) -> Language | None:
    """The language of the file at this path by its suffix or name, None when it is not in the
    table.
    """
    name = path.rpartition("/")[2].lower()
    if name in _BY_SUFFIX:
        return _BY_SUFFIX[name]
    dot = name.rfind(".")
    return _BY_SUFFIX.get(name[dot:]) if dot >= 0 else None


def role_of(path: str) -> Role:
    """The role of the file at this path in its project; `generated` for what evidence leaves out
    by default.
    """
    return "generated" if left_out(path) else own_role(path)


@lru_cache(maxsize=65536)
def left_out(path: str) -> str:
    """Why evidence leaves a file out by default, told from its path: one of LEFT_OUT, or "" if it
    does not.
    """
    *folders, name = path.split("/")
    within_sources = False
    for folder in map(str.lower, folders):
        if (kind := _FOLDERS.get(folder)) and not (within_sources and folder in _OUTPUT):
            return kind
        within_sources = within_sources or folder == "src"
    found = _FILES.search(name)
    return (found.lastgroup or "") if found else ""


def left_out_by_text(path: str, text: str) -> str:
    """Why evidence leaves out a file of code that holds this: `generated`, `minified`, or "" when
    it does not.
    """
    if _HEADER.search(text[:_HEAD]):
        return "generated"
    packed = (
        path.endswith(_PACKED)
        and len(text) > _MUCH
        and len(text) > _LONG_LINES * (text.count("\n") + 1)
    )
    return "minified" if packed else ""


@lru_cache(maxsize=65536)
def own_role(path: str) -> Role:
    """The role of the file at this path, by the naming conventions of test runners and tools."""
    *folders, name = path.split("/")
    lowered = [folder.lower() for folder in folders]
    language = language_of(path)
    is_code = language is not None and language.name in _CODE
    if _DOC_FILE.search(name) and (language is None or not is_code or language.name == "HTML"):
        return "doc"
    if (is_code and _TEST_FILE.search(name)) or _TEST_CLASS_FILE.search(name):
        return "test"
    if is_code and _SUPPORT_FILE.search(name):
        return "support"
    if _CONFIG_FILE.search(name):
        return "config"
    if is_code and name.endswith(".cs") and any(map(_TEST_PROJECT.search, lowered)):
        return "test" if _TEST_IN_PROJECT.search(name) else "support"
    if is_code and _within_tests(path, lowered):
        return _role_in_test_folder(lowered, name)
    return "source" if is_code else "data"


def _within_tests(path: str, folders: list[str]) -> bool:
    """Whether one of these folders holds tests and what they need; `t` at the root is Perl's word
    for it.
    """
    return (
        not _TEST_FOLDERS.isdisjoint(folders)
        or folders[:1] == ["t"]
        or any(map(_NAMED_FOR_TESTS.search, folders))
        or _SOURCE_SET.search(path) is not None
    )


def _role_in_test_folder(folders: list[str], name: str) -> Role:
    """A code file in a test folder that no naming convention calls a test."""
    if not _SUPPORT_FOLDERS.isdisjoint(folders):
        return "support"
    # Jest runs every script in __tests__, cargo every file directly in tests/.
    if folders[-1] == "__tests__" or (
        name.endswith(".rs") and folders[-1] == "tests" and name != "mod.rs"
    ):
        return "test"
    return "support"
