"""The table of languages; the language of a file, from its path alone."""

from dataclasses import dataclass
from functools import lru_cache

_C_BLOCK = ("/*", "*/")
_XML_BLOCK = ("<!--", "-->")


@dataclass(frozen=True, slots=True)
class Language:
    """One row of the language table."""

    name: str
    suffixes: tuple[str, ...]  # lower case, with the dot; or a whole file name without one
    line_comment: str  # "" if the language has none
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


@lru_cache(maxsize=65536)
def language_of(path: str) -> Language | None:
    """The language of a file, by its suffix or name; None if it is not in the table."""
    name = path.rpartition("/")[2].lower()
    if name in _BY_SUFFIX:
        return _BY_SUFFIX[name]
    dot = name.rfind(".")
    return _BY_SUFFIX.get(name[dot:]) if dot >= 0 else None
