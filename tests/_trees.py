"""Small projects made on the spot: ordinary ones of each kind, and those that break tools."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from conftest import git, make_repository

LOGIN = '''"""Log in."""


def login(name, password):
    """Check the password."""
    if not name:
        raise ValueError("no name given")
    return name == "ada" and password == "secret"
'''
TEST = """from login import login


def test_login_takes_the_right_password():
    assert login("ada", "secret")
"""


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, which is made; the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def ordinary(folder: Path) -> Path:
    """Two Python files about logging in, in a repository."""
    write(folder, {"login.py": LOGIN, "tests/test_login.py": TEST})
    make_repository(folder)
    return folder


def empty(folder: Path) -> Path:
    return write(folder, {})


def empty_repository(folder: Path) -> Path:
    write(folder, {})
    git(folder, "init", "-q")
    return folder


def without_git(folder: Path) -> Path:
    return write(folder, {"login.py": LOGIN, "tests/test_login.py": TEST, ".gitignore": "*.log\n"})


def without_commits(folder: Path) -> Path:
    without_git(folder)
    git(folder, "init", "-q")
    return folder


def shallow_clone(folder: Path) -> Path:
    origin = ordinary(folder.with_name("origin"))
    write(origin, {"login.py": LOGIN + "\n# more\n"})
    git(origin, "commit", "-q", "-a", "-m", "login: more")
    git(folder.parent, "clone", "-q", "--depth", "1", f"file://{origin}", folder.name)
    return folder


def worktree_inside(folder: Path) -> Path:
    """A worktree of one repository that lies inside the tree of another."""
    outer = ordinary(folder.with_name("outer"))
    other = ordinary(folder.with_name("other"))
    inside = outer / "inside"
    git(other, "worktree", "add", "-q", "-b", "side", str(inside))
    return inside


def with_submodule(folder: Path) -> Path:
    library = ordinary(folder.with_name("library"))
    ordinary(folder)
    git(folder, "submodule", "--quiet", "add", f"file://{library}", "vendored/library")
    git(folder, "commit", "-q", "-m", "A library")
    return folder


def broken_repository(folder: Path) -> Path:
    ordinary(folder)
    (folder / ".git" / "HEAD").write_text("nonsense\n")
    return folder


def odd_contents(folder: Path) -> Path:
    """Files that break readers which expect plain text."""
    write(
        folder,
        {
            "login.py": LOGIN,
            "login_empty.py": "",
            "login_binary.py": b"login = \x00\x01\x02\xff" * 100,
            "login.min.js": "function login(){" + "var login=1;" * 170_000 + "}",
            "login_latin.py": "# Prüfung: login für Größe\ndef login_größe(): pass\n".encode(
                "latin-1"
            ),
            "login_crlf.py": LOGIN.replace("\n", "\r\n"),
            "login_feed.py": "def login_one(): pass\n\x0c\ndef login_two(): pass\x0b\u2028\x85\n",
            "login_bom.py": b"\xef\xbb\xbfdef login_bom(): pass\n",
            "login_utf16.py": "def login(): pass\n".encode("utf-16"),
            "login_half.py": b"def login(): return '\xed\xa0\x80'\n",
            "login_deep.py": "login = " + "(" * 3000 + "1" + ")" * 3000 + "\n",
            "login_deep.ts": "const login = " + "[" * 3000 + "]" * 3000 + ";\n",
            "login_broken.py": "def login(:\n  '''\n",
            "login.json": "{" * 5000,
            "reports/junit.xml": "<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite>&a;</testsuite>",
            "reports/login.xml": "<testsuite><testcase name='login'",
        },
    )
    make_repository(folder)
    return folder


def odd_names(folder: Path) -> Path:
    names = (
        "app/[slug]/login.py", "app/(auth)/login.py", "a, b/login.py", "with space/login page.py",
        "login\nline.py",
        "login\ttab.py", "login:12.py", "<login>.py", "login`tick.py", "login'quote\".py",
        "-login.py", "login#1.py",
        "login\x1b[31m.py", "login) (x.py:1).py", "ログイン/login.py", "login\u202efdp.py",
        "login{feature}.py",
        "lo*gin?.py",
    )  # fmt: skip
    write(folder, dict.fromkeys(names, LOGIN))
    (folder / os.fsdecode(b"login-\xff.py")).write_text(LOGIN)
    make_repository(folder)
    return folder


def links(folder: Path) -> Path:
    """Links out of the tree, to nothing, and in circles."""
    outside = write(
        folder.with_name("outside"), {"login_secret.py": "login_secret_word = 'do not read'\n"}
    )
    ordinary(folder)
    (folder / "login_link.py").symlink_to(outside / "login_secret.py")
    (folder / "login_folder").symlink_to(outside)
    (folder / "login_nowhere.py").symlink_to("nowhere")
    (folder / "login_self.py").symlink_to("login_self.py")
    (folder / "login_loop").symlink_to(".")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Links")
    return folder


def unreadable(folder: Path) -> Path:
    """A file and a folder that may not be read, and a pipe that never ends."""
    ordinary(folder)
    write(folder, {"login_closed.py": LOGIN, "closed/login.py": LOGIN})
    git(folder, "add", "-A")
    os.mkfifo(folder / "login_pipe.py")
    (folder / "login_closed.py").chmod(0)
    (folder / "closed").chmod(0)
    return folder


TREES: dict[str, Callable[[Path], Path]] = {
    "ordinary": ordinary,
    "empty": empty,
    "empty repository": empty_repository,
    "without git": without_git,
    "without commits": without_commits,
    "shallow clone": shallow_clone,
    "worktree inside another tree": worktree_inside,
    "with a submodule": with_submodule,
    "broken repository": broken_repository,
    "odd contents": odd_contents,
    "odd names": odd_names,
    "links": links,
    "unreadable": unreadable,
}
