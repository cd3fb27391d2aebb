"""Random projects for the fuzzing of the gates: gates files, dossiers, hints, links, switches."""

import random
import time
from pathlib import Path

from _gate_project import REQUIRED
from _gate_rows import Scene

FEATURES = (
    "login", "log-in", "logins", "checkout", "chekcout", "cart", "sign-up", "mail-rules", "mail",
    "password-reset",
    "code", "a", "login-page", "gr-e",
)  # fmt: skip
PATTERNS = (
    "**/{feature}.spec.ts", "tests/**/test_{feature}.py", "tests/{feature}.*", "docs/api.md",
    "**/*.md",
    "src/{feature}/{feature}.ts", "app/[slug]/{feature}.ts", "app/(auth)/**", "tests/**",
    "a b/{feature}.spec.ts",
    "*", "{feature}", "**", "**/{feature}/**/*.ts", "t*/{feature}.spec.??",
    "tests/*-{feature}.spec.ts",
    "tests**/{feature}.spec.ts", "**/x{feature}y", "link/**", ".draft/**", "./tests/{feature}.ts",
    "/src/**/{feature}.ts",
    "e2e/{Feature}.ts", "tests/é/{feature}.spec.ts", "a#b/{feature}", "**/.*", ".project/**",
    "**/{feature}.spec.ts/",
    "tests/?*/{feature}", "tests/a}b/{feature}.ts", "$(touch pwned)/{feature}.spec.ts",
    "a\\b/{feature}*",
)  # fmt: skip
# What a project has: with these alone the hooks' front decides much by itself.
USUAL = (
    "tests/**/test_{feature}.py", "tests/{feature}.*", "tests/e2e/{feature}.spec.ts", "docs/api.md",
    "mode block",
    "src/{feature}/{feature}.ts", "app/[slug]/{feature}.ts", "tests/*-{feature}.spec.ts",
    "t*/{feature}.spec.??",
    "./tests/{feature}.ts", "tests**/{feature}.ts", "tests/**", "alias log-in login", "# tests", "",
    "src/**.spec.ts",
    "!tests/legacy/**", "agent reviewer", "**/{feature}.spec.ts",
)  # fmt: skip
LINES = (
    "mode block", "mode warn", "mode off", "agent reviewer", "!agent test-planner",
    "agent test-planner",
    "# a comment",
    "alias login-errors login", "alias log-in login", "alias cart checkout",
    "alias sign-up _project", "alias a b",
    "",
    "agent other:reviewer", "!agent preread:test-planner", "  ", "alias mail mail-rules",
)  # fmt: skip
BROKEN = (
    "mode blok",
    "mode",
    "agent",
    "agent a b",
    "alias a",
    "alias A b",
    "alias a con",
    "!",
    "/",
    "!agent",
    "\0",
    "\udcff",
)
FOLDERS = (
    "tests",
    "e2e",
    "src",
    "src/login",
    "docs",
    "app/[slug]",
    "app/(auth)",
    "a b",
    "tests/é",
    ".draft/tests",
    "link",
    "out",
)
NAMES = (
    "login.spec.ts", "test_login.py", "log-in.spec.ts", "Login Page.spec.ts", "checkout.spec.ts",
    "cart.ts", "api.md",
    "README.md", "x-login.spec.ts", "login.ts", "测试.spec.ts", "con.spec.ts", "[id].spec.ts",
    "sign_up.spec.ts",
)  # fmt: skip
LINKS = (
    ("link", "tests"), ("link", ".project"), ("link", "nowhere"), ("link", "link"), ("out", "../q"),
    ("tests", "src"),
    ("src/l.ts", "../tests/login.spec.ts"), ("notes", ".project/gates"), ("e2e",
    ".project/context"),
    ("docs", ".draft"),
)  # fmt: skip


def gates_text(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return "\n".join([*rng.choices(USUAL, k=rng.randint(1, 4)), ""]).encode()
    lines = [decorated(rng, rng.choice(PATTERNS)) for _ in range(rng.choice((1, 1, 2, 3, 5, 9)))]
    lines += rng.sample(PATTERNS[:2], rng.randint(0, 2))
    lines += [decorated(rng, rng.choice(LINES), pattern=False) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.06:
        lines.append(rng.choice(BROKEN))
    rng.shuffle(lines)
    end = rng.choice(("\n", "\n", "\n", "\r\n"))
    text = rng.choice(("", "", "", "\ufeff")) + end.join(lines) + rng.choice((end, end, "", "\r"))
    return text.encode("utf-8", "surrogateescape")


def decorated(rng: random.Random, line: str, *, pattern: bool = True) -> str:
    if pattern and rng.random() < 0.2:
        line = rng.choice(("!", "!", "! ")) + line
    if rng.random() < 0.1:
        line = rng.choice((" ", "\t", " \t ")) + line
    if rng.random() < 0.2:
        line += rng.choice((" ", "\t# x", " # {feature}", "  #", "#x", "  "))
    return line.replace(" ", "\t", 1) if not pattern and rng.random() < 0.1 else line


def dossier(rng: random.Random, scene: Scene, project: str, feature: str) -> None:
    """Whole, or in one of the states that do not hold."""
    folder = f"{project}.project/context/{feature}"
    for name in REQUIRED:
        chance = rng.random()
        if chance < 0.9:
            scene.write(f"{folder}/{name}", rng.choice((b"x", b"# X\n", b"\xff", b"\n x")))
        elif chance < 0.94:
            scene.write(f"{folder}/{name}", rng.choice((b"", b" \n\t")))
        elif chance < 0.96:
            (scene.project / folder / name).mkdir(parents=True)
    if rng.random() < 0.3:
        scene.write(f"{project}.project/.cache/stale/{feature}", b"")


WRITERS = (
    "\nby preread gates off\n",
    "\nby /preread:gates",
    " \n by preread gates off\n",
    "",
    "\nme\n",
)


def hints(rng: random.Random, scene: Scene, project: str) -> None:
    now = int(time.time())
    times = (
        str(now + 7200),
        f"{now + 7200}.5\n",
        str(now - 60),
        "soon",
        "",
        "9" * 400,
        "-1",
        "inf",
    )
    for feature in rng.sample(FEATURES, 2):
        if rng.random() < 0.2:
            scene.write(f"{project}.project/.cache/building/{feature}", rng.choice(times).encode())
    if rng.random() < 0.08:
        scene.write(
            f"{project}.project/.state/gates-off",
            (rng.choice((*times, "forever")) + rng.choice(WRITERS)).encode(),
        )


def project(rng: random.Random, scene: Scene, name: str) -> None:
    """One project; `name` is its folder with a slash, relative to the first project's."""
    if rng.random() < 0.93:
        scene.write(f"{name}.project/gates", gates_text(rng))
    for feature in rng.sample(FEATURES, rng.choice((0, 1, 2, 4))):
        dossier(rng, scene, name, feature)
    if rng.random() < 0.1:
        dossier(rng, scene, name, "_project")
    hints(rng, scene, name)


def world(rng: random.Random, base: Path) -> Scene:
    """A folder with the project `p`, and perhaps others."""
    scene = Scene(base)
    project(rng, scene, "")
    if rng.random() < 0.5:
        other = rng.choice(("../q/", "nested/", "tests/nested/", '../it\'s a "q"/'))
        scene.write(f"{other}.git", b"gitdir: nowhere\n")
        project(rng, scene, other)
    for _ in range(rng.choice((0, 3, 20))):
        scene.write(f"{rng.choice(FOLDERS)}/{rng.choice(NAMES)}", b"x")
    if rng.random() < 0.3:
        scene.write("../data/unready", b"no Python\n")
    for name, target in [
        *LINKS[: rng.choice((0, 0, 1))],
        *rng.sample(LINKS, rng.choice((0, 0, 1, 2))),
    ]:
        link = scene.project / name
        if not link.exists() and not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
    return scene
