# Paths are text here, as the contract has it.
# ruff: noqa: PTH112, PTH118, PTH119
"""What a Bash command plainly writes by docs/gates-reference.md, with a slow parser of its grammar.

Nothing here is shared with `hooks/`: this is the second opinion that the hooks are compared with.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from _gate_words import CLOSERS, Lexer, Token, UnreadableError

WRITING = {"&>>", "&>", ">>", ">|", ">&", ">"}
# Commands that start the one that counts, with a pattern of their options that take a word.
PREFIXES = {
    **dict.fromkeys(["command", "time", "nohup", "builtin", "setsid"], r"(?!)"),
    "exec": "-a",
    "sudo": "-[ughprtU]|--user|--group|--host|--prompt",
    "doas": "-u",
    "env": "-u|--unset",
    "nice": "-n|--adjustment",
    "ionice": "-[cn]|--class|--classdata",
    "stdbuf": "-[ioe]|--input|--output|--error",
    "timeout": "-[ks]|--kill-after|--signal",
    "xargs": "-[InPLsdEa]|--max-args|--max-procs|--max-lines|--delimiter|--arg-file",
}
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class Action(NamedTuple):
    """What a command does to a path: `write`, `remove`; or `switch`, with its folder."""

    what: str
    path: str


@dataclass
class Shell:
    """Walks the commands in order, with the folder that each runs in (None: unknown)."""

    tokens: list[Token]
    cwd: str | None
    at: int = 0

    def __post_init__(self) -> None:
        self.actions: list[Action] = []

    @property
    def token(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end", "")

    def is_control(self, *raws: str) -> bool:
        return self.token.kind == "control" and self.token.raw in raws

    def is_word(self, *raws: str) -> bool:
        return self.token.kind == "word" and self.token.raw in raws

    def run(self) -> list[Action]:
        with suppress(UnreadableError):
            self.sequence(())
        return self.actions

    def sequence(self, closers: tuple[str, ...]) -> None:
        """Pipelines up to one of the closing words or operators, or to the end."""
        while self.token.kind != "end":
            if self.token.raw in closers and self.token.kind in {"word", "control"}:
                return
            if self.is_control(";", "&", "\n", "&&", "||"):
                self.at += 1
            elif self.is_control(")", ";;", ";&", ";;&", "|", "|&") or self.is_word(*CLOSERS):
                raise UnreadableError
            else:
                self.pipeline()
        if closers:
            raise UnreadableError

    def pipeline(self) -> None:
        before = self.cwd
        self.command()
        while self.is_control("|", "|&"):
            self.at += 1
            while self.is_control("\n"):
                self.at += 1
            self.cwd = before
            self.command()
            self.cwd = before

    def command(self) -> None:
        while self.is_word("!", "time"):
            timed = self.is_word("time")
            self.at += 1
            if timed and self.is_word("-p"):
                self.at += 1
        token = self.token
        self.at += 1
        if token.kind == "control" and token.raw == "(":
            before = self.cwd
            self.body(")")
            self.cwd = before
        elif token.kind == "arithmetic":
            pass
        elif token.kind == "word" and token.raw in COMPOUND:
            COMPOUND[token.raw](self)
        else:
            self.at -= 1
            self.simple()
            return
        self.redirections()

    def body(self, *closers: str) -> str:
        """A sequence and the word that closes it."""
        self.sequence(closers)
        self.at += 1
        return self.tokens[self.at - 1].raw

    def braces(self) -> None:
        self.body("}")

    def conditional(self) -> None:
        while True:
            self.body("then")
            if (end := self.body("elif", "else", "fi")) != "elif":
                break
        if end == "else":
            self.body("fi")

    def loop(self) -> None:
        self.body("do")
        self.body("done")

    def each(self) -> None:
        while self.token.kind in {"word", "arithmetic"} and not self.is_word("do"):
            self.at += 1
        self.loop()

    def case(self) -> None:
        while self.token.kind == "word" and not self.is_word("in"):
            self.at += 1
        self.at += 1
        while True:
            while self.is_control("\n"):
                self.at += 1
            if self.is_word("esac"):
                self.at += 1
                return
            while not self.is_control(")"):
                if self.token.kind in {"end", "broken"}:
                    raise UnreadableError
                self.at += 1
            self.at += 1
            if self.body(";;", ";&", ";;&", "esac") == "esac":
                return

    def test(self) -> None:
        while not self.is_word("]]"):
            if self.token.kind in {"end", "broken"}:
                raise UnreadableError
            self.at += 1
        self.at += 1

    def function(self) -> None:
        self.at += 1
        if self.is_control("("):
            self.at += 2
        while self.is_control("\n"):
            self.at += 1
        self.command()

    def redirections(self) -> None:
        while self.token.kind == "redirection":
            self.redirection()

    def redirection(self) -> None:
        operator = self.token.raw
        self.at += 1
        if self.token.kind != "word":
            raise UnreadableError
        value = self.token.value
        self.at += 1
        copied = operator == ">&" and re.fullmatch(r"\d*-?", value or "")
        if operator in WRITING and not copied:
            self.act("write", value)

    def simple(self) -> None:
        words: list[Token] = []
        noted = len(self.actions)
        while self.token.kind in {"word", "redirection"}:
            if self.token.kind == "redirection":
                try:
                    self.redirection()
                except UnreadableError:
                    del self.actions[noted:]
                    raise
                continue
            words.append(self.token)
            self.at += 1
            if not self.is_control("("):
                continue
            if ASSIGNMENT.fullmatch(words[-1].raw):
                while not self.is_control(")"):
                    if self.token.kind in {"end", "broken"}:
                        raise UnreadableError
                    self.at += 1
                self.at += 1
            elif len(words) == 1:
                self.at -= 1
                self.function()
                return
        if self.token.kind in {"broken", "arithmetic"} or self.is_control("("):
            del self.actions[noted:]
            raise UnreadableError
        self.perform(words)

    # -- what the simple commands do

    def act(self, what: str, path: str | None) -> None:
        if path and (path.startswith("/") or self.cwd is not None):
            self.actions.append(Action(what, absolute(path, self.cwd or "/")))

    def perform(self, tokens: list[Token]) -> None:
        words = unprefixed(tokens)
        name, rest = (os.path.basename(words[0] or ""), words[1:]) if words else ("", [])
        if name in FILES:
            for path in FILES[name](rest):
                if path != "-":
                    self.act("write", path)
        elif name in {"cp", "mv", "ln", "install"}:
            self.copy(name, rest)
        elif name in {"rm", "unlink"}:
            for path in options(rest)[1]:
                self.act("remove", path)
        elif name in {"cd", "pushd", "popd"}:
            self.change(name, rest)
        elif name == "git":
            self.git(rest)
        elif name in {"sh", "bash", "dash", "zsh", "ksh"}:
            script = script_of(rest)
            if script is not None:
                self.actions += Shell(Lexer(script).all(), self.cwd).run()
        elif switches_off(name, rest):
            self.actions.append(Action("switch", self.cwd or ""))

    def git(self, words: list[str | None]) -> None:
        """`git mv` and `git rm`."""
        before, left = self.cwd, list(words)
        while left and (left[0] or "").startswith("-") and left[0] != "-":
            option = left.pop(0)
            if option == "-C":
                self.change("cd", left[:1] or [None])
            if option in {"-C", "-c"}:
                left = left[1:]
        names = dict(options(left[1:])[0])
        if left and left[0] in {"mv", "rm"} and not names.keys() & {"-n", "--dry-run", "--cached"}:
            if left[0] == "mv":
                self.copy("mv", left[1:])
            else:
                for path in options(left[1:])[1]:
                    self.act("remove", path)
        self.cwd = before

    def copy(self, name: str, words: list[str | None]) -> None:
        more = "mog" if name == "install" else ""
        longs = "target-directory suffix" + (" mode owner group" if more else "")
        given, sources = options(words, "tS" + more, longs)
        names = {option for option, _ in given}
        folders = [value for option, value in given if option in {"-t", "--target-directory"}]
        if (name == "cp" and "--parents" in names) or (
            name == "install" and names & {"-d", "--directory"}
        ):
            return
        folder = folders[-1] if folders else None
        below = bool(folders)
        if not folders and len(sources) > 1:
            folder = sources.pop()
            plain = {"-T", "--no-target-directory"}
            plain |= {"-n", "-h", "--no-dereference"} if name == "ln" else set()
            known = folder is not None and (folder.startswith("/") or self.cwd is not None)
            there = known and os.path.isdir(absolute(folder or "", self.cwd or "/"))
            is_folder = len(sources) > 1 or (folder or "").endswith("/") or there
            below = is_folder and not names & plain
        elif not folders and name == "ln":
            folder, below = ".", True
        elif not folders:
            sources = [] if name != "mv" else sources
        if folder:
            for source in sources:
                if not below:
                    self.act("write", folder)
                elif source:
                    self.act("write", os.path.join(folder, os.path.basename(source.rstrip("/"))))
        if name == "mv":
            for source in sources:
                self.act("remove", source)

    def change(self, name: str, words: list[str | None]) -> None:
        names = [
            word for word in words if word is None or not (word.startswith("-") and len(word) > 1)
        ]
        folder = names[0] if len(names) == 1 and name != "popd" else None
        if not folder or folder == "-" or not (folder.startswith("/") or self.cwd):
            self.cwd = None
        else:
            self.cwd = absolute(folder, self.cwd or "/")


COMPOUND = {
    "{": Shell.braces,
    "if": Shell.conditional,
    "while": Shell.loop,
    "until": Shell.loop,
    "for": Shell.each,
    "select": Shell.each,
    "case": Shell.case,
    "[[": Shell.test,
    "function": Shell.function,
}


def absolute(path: str, cwd: str) -> str:
    """The path as text: absolute, without `.`, `..`, and doubled separators."""
    joined = os.path.normpath(os.path.join(cwd, path))
    return "/" + joined.lstrip("/")


def unprefixed(tokens: list[Token]) -> list[str | None]:
    """The words of a command from its name on; none for `command -v`."""
    left = list(tokens)
    mark: str | None = None  # of xargs: its words are put where this is; empty: at the end
    while left:
        if ASSIGNMENT.match(left[0].raw):
            left.pop(0)
            continue
        prefix = os.path.basename(left[0].value or "")
        if prefix not in PREFIXES:
            break
        left.pop(0)
        marks = ""
        while left and (ASSIGNMENT.match(left[0].raw) or text_of(left[0]).startswith("-")):
            option = text_of(left.pop(0))
            if prefix == "command" and option in {"-v", "-V"}:
                return []
            value = text_of(left[0]) if left else ""
            if re.fullmatch(PREFIXES[prefix], option) and left:
                left.pop(0)
            for form in (r"-I(.+)", r"-i(.*)", r"--replace=?(.*)"):
                if found := re.fullmatch(form, option, re.DOTALL):
                    marks = found[1] or "{}"
            marks = (value or "{}") if option == "-I" else marks
        if prefix == "timeout":
            left = left[1:]
        if prefix == "xargs":
            mark = marks
    words = [token.value for token in left]
    if mark is None:
        return words
    if not mark:
        return [*words, None]
    return [None if word is None or mark in word else word for word in words]


def text_of(token: Token) -> str:
    return token.raw if token.value is None else token.value


def options(
    words: list[str | None], letters: str = "", longs: str = "", attached: str = ""
) -> tuple[list[tuple[str, str | None]], list[str | None]]:
    """Options with their values, and operands; the `letters` and `longs` take a value."""
    given, operands, left = list[tuple[str, str | None]](), list[str | None](), list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return given, operands + left
        if word is None or not word.startswith("-") or word == "-":
            operands.append(word)
        elif found := re.fullmatch(r"(--[^=]*)=(.*)", word, re.DOTALL):
            given.append((found[1], found[2]))
        elif word.startswith("--"):
            takes = word[2:] in longs.split()
            given.append((word, (left.pop(0) if left else None) if takes else ""))
        else:
            rest = word[1:]
            while rest:
                letter, rest = rest[0], rest[1:]
                if letter in letters and not rest:
                    given.append(("-" + letter, left.pop(0) if left else None))
                elif letter in letters or letter in attached:
                    given.append(("-" + letter, rest))
                    rest = ""
                else:
                    given.append(("-" + letter, ""))
    return given, operands


def script_of(words: list[str | None]) -> str | None:
    """The script of `bash -c`."""
    left = list(words)
    while left and left[0] is not None and re.fullmatch(r"-.+", left[0], re.DOTALL):
        option = left.pop(0)
        if option == "--":
            return None
        if re.fullmatch(r"-(?!-).*c", option or "", re.DOTALL):
            return left[0] if left else None
        if re.fullmatch(r"-(?!-).*[oO]", option or "", re.DOTALL):
            left = left[1:]
    return None


def touched(words: list[str | None]) -> list[str | None]:
    given, names = options(words, "drt", "date reference time")
    return [] if {name for name, _ in given} & {"-c", "--no-create"} else names


def truncated(words: list[str | None]) -> list[str | None]:
    given, names = options(words, "sr", "size reference")
    return [] if {name for name, _ in given} & {"-c", "--no-create"} else names


def edited(words: list[str | None]) -> list[str | None]:
    """The files that `sed -i` writes."""
    given, names = options(words, "efl", "expression file line-length", "i")
    found = {name for name, _ in given}
    names = [name for name in names if name != ""]
    if not found & {"-i", "--in-place"}:
        return []
    return names if found & {"-e", "-f", "--expression", "--file"} else names[1:]


def rewritten(words: list[str | None]) -> list[str | None]:
    """The files that `perl -pi` writes."""
    given, names = options(words, "eEI", "", "iMmFCDdVx")
    found = {name for name, _ in given}
    names = [name for name in names if name != ""]
    if not (found & {"-i", "--in-place"} and found & {"-p", "-n"}):
        return []
    return names if found & {"-e", "-E"} else names[1:]


def sorted_into(words: list[str | None]) -> list[str | None]:
    longs = "output key field-separator buffer-size temporary-directory"
    return [v for name, v in options(words, "oktST", longs)[0] if name in {"-o", "--output"}]


def fetched(words: list[str | None]) -> list[str | None]:
    """The files that `wget -O` writes."""
    longs = "output-document header post-data user-agent timeout tries"
    given = options(words, "OaABDeiIloPQRtTUwX", longs)[0]
    return [value for name, value in given if name in {"-O", "--output-document"}]


def downloaded(words: list[str | None]) -> list[str | None]:
    """The files that `curl -o` and `curl -O` write."""
    longs = (
        "output output-dir user-agent cookie cookie-jar continue-at data data-raw data-binary"
        " data-urlencode json dump-header referer cert form header config max-time"
        " connect-timeout quote range retry retry-delay upload-file user proxy-user write-out"
        " proxy request time-cond cacert key resolve"
    )
    given, urls = options(words, "oAbcCdDeEFHKmPQrtTuUwxXyYz", longs)
    names = {name for name, _ in given}
    files = [v for name, v in given if name in {"-o", "--output"} and v != "-"]
    if names & {"-O", "--remote-name"} and not names & {"-J", "--remote-header-name"}:
        for url in urls:
            found = re.fullmatch(r"[^:]*://[^?#]*/([^/?#]+)([?#].*)?", url or "", re.DOTALL)
            files += [found[1]] if found else []
    folders = [value for name, value in given if name == "--output-dir"]
    return below(folders, files)


def patched(words: list[str | None]) -> list[str | None]:
    longs = "directory ifdef fuzz get input output strip reject-file version-control debug suffix"
    given, names = options(words, "BdDFgioprVxYz", longs)
    if {name for name, _ in given} & {"--dry-run", "-C", "--check"}:
        return []
    outputs = [value for name, value in given if name in {"-o", "--output"}]
    folders = [value for name, value in given if name in {"-d", "--directory"}]
    return below(folders, outputs or names[:1])


def below(folders: list[str | None], files: list[str | None]) -> list[str | None]:
    folder = folders[-1] if folders else ""
    return [] if folder is None else [os.path.join(folder, file) for file in files if file]


FILES = {
    "tee": lambda words: options(words)[1],
    "sponge": lambda words: options(words)[1],
    "touch": touched,
    "truncate": truncated,
    "dd": lambda words: [
        word[3:] for word in options(words)[1] if re.match("of=", word or "") and word
    ],
    "sed": edited,
    "perl": rewritten,
    "sort": sorted_into,
    "wget": fetched,
    "curl": downloaded,
    "patch": patched,
}


def switches_off(name: str, words: list[str | None]) -> bool:
    """Whether this is `preread gates off`, in any of its forms."""
    if name.startswith("python"):
        module = next((i for i, word in enumerate(words) if word == "-m"), len(words))
        if words[module + 1 : module + 2] != ["preread"]:
            return False
        words = words[module + 2 :]
    elif name != "preread":
        return False
    if {"init", "--undo"} <= set(words):
        return True
    return "gates" in words and "off" in words[words.index("gates") :]


def actions(command: str, cwd: str | None) -> list[Action]:
    """What the command does to paths it names, in the order of the text."""
    return Shell(Lexer(command).all(), cwd).run()
