"""Gradle, Maven, sbt: the module of a test, its task, and the class as a filter."""

import re
from pathlib import PurePosixPath

from preread.project.runners.model import (
    Command,
    Proof,
    Target,
    folders,
    line_with,
    nearest,
    relative,
    within,
)

BUILDS = ("build.gradle.kts", "build.gradle")
SETTINGS = ("settings.gradle.kts", "settings.gradle")
OPENS = re.compile(r"^\s*(?:plugins|dependencies|apply|android|kotlin)\b")
TESTS = re.compile(
    r"^(?!\s*(?://|\*|<!--)).*(?:useJUnit|useTestNG|\btestImplementation|<scope>test<)"
)
# In a build file: a module for several platforms; one for Android, whose `test` takes no filter.
SHARED = re.compile(r"multiplatform|\b(?:common|jvm)(?:Main|Test)\b")
ANDROID = re.compile(
    r"(?:\bid\b|apply plugin:)[\s(]*[\"']com\.android\.\w+"
    r"|\bplugins\.android\.(?:application|library)\b"
)
FLAVORS = re.compile(r"\bproductFlavors\b|\bflavorDimensions\b")
ARTIFACT = re.compile(r"<artifactId>[^<]+</artifactId>")
PROJECT = re.compile(r"\blazy val\b|^\s*(?:name|ThisBuild\b.*|scalaVersion)\s*:=")
FAILSAFE = re.compile(r"maven-failsafe-plugin")


def _class(target: Target) -> str:
    return PurePosixPath(target.test).stem


def _proof(target: Target, path: str, *patterns: re.Pattern[str]) -> Proof:
    found = (line_with(target.tree, path, pattern) for pattern in patterns)
    return next(filter(None, found), Proof(path, 1, 1))


def gradle(target: Target) -> Command | None:
    """The task of the nearest build file's module; none if its name is unknown."""
    for folder, path in nearest(target, *BUILDS, *_named_builds(target)):
        home = _settings_folder(target, folder)
        module = _module(target, home, folder)
        task = _task(target, folder, path)
        if module is None or not task:
            return None
        files = (f"--tests {_class(target)}",)
        proof = _proof(target, path, TESTS, OPENS)
        run = f"{_gradle_program(target, home)} {module}{task}"
        return Command("gradle", run, proof, home, files=files)
    return None


def _gradle_program(target: Target, home: str) -> str:
    """The nearest wrapper at or above `home`, relative to it; without one, `gradle`."""
    for folder in folders(within(home, "x")):
        if within(folder, "gradlew") in target.tree.files:
            if folder == home:
                return "./gradlew"
            return "../" * len(PurePosixPath(relative(folder, home)).parts) + "gradlew"
    return "gradle"


def _named_builds(target: Target) -> list[str]:
    """Build files named after their folder, as in some large builds: `core/core.gradle.kts`."""
    names = {PurePosixPath(folder).name for folder in folders(target.test) if folder}
    return sorted(f"{name}.gradle{kts}" for name in names for kts in ("", ".kts"))


def _settings_folder(target: Target, folder: str) -> str:
    """The folder of the build that a module is part of."""
    for above in folders(within(folder, "x")):
        if any(within(above, name) in target.tree.files for name in SETTINGS):
            return above
    return folder


def _module(target: Target, home: str, folder: str) -> str | None:
    """A module's path with a colon at its end; None if the settings do not include the module."""
    own = relative(home, folder) if folder != home else ""
    if not own:
        return ""
    text = "\n".join(target.tree.text(within(home, name)) or "" for name in SETTINGS)
    whole = re.escape(own).replace("/", "[/:]")
    placed = re.search(
        rf"project\(\s*[\"'](:[^\"']+)[\"']\s*\)\.projectDir\s*=[^\n]*[\"'](?:\./)?{whole}[\"']",
        text,
    )
    if placed:
        return f"{placed[1]}:"
    return f":{own.replace('/', ':')}:" if re.search(rf"[\"':]{whole}[\"':]", text) else None


def _task(target: Target, folder: str, path: str) -> str:
    """The task that runs a file's tests: `test`, or its platform's own; empty if unknown."""
    text, inner = target.tree.text(path) or "", relative(folder, target.test)
    source_set = inner.split("/")[1] if inner.startswith("src/") else ""
    if SHARED.search(text):
        return "jvmTest" if source_set in {"commonTest", "jvmTest"} else ""
    if ANDROID.search(text):
        return "testDebugUnitTest" if source_set == "test" and not FLAVORS.search(text) else ""
    return source_set if source_set.endswith("Test") else "test"


def maven(target: Target) -> Command | None:
    """The module of the nearest pom.xml, built together with the siblings that it needs."""
    poms = [folder for folder, _ in nearest(target, "pom.xml")]
    if not poms:
        return None
    folder, home = poms[0], _reactor(target, poms)
    files = target.tree.files
    start = "./mvnw" if within(home, "mvnw") in files else "mvn"
    path = within(folder, "pom.xml")
    with_siblings = f" -pl {relative(home, folder)} -am" if home != folder else ""
    what, end = "test -Dtest=", " -Dsurefire.failIfNoSpecifiedTests=false" if with_siblings else ""
    if _class(target).endswith("IT") and line_with(target.tree, path, FAILSAFE):
        what, end = "verify -Dit.test=", ""
    proof, own = _proof(target, path, TESTS, ARTIFACT), (_class(target),)
    run = f"{start}{with_siblings} {what}"
    return Command("maven", run, proof, home, files=own, glue=",", end=end)


def _reactor(target: Target, poms: list[str]) -> str:
    """The outermost folder whose pom.xml lists the next one as a module."""
    home = poms[0]
    for above in poms[1:]:
        text = target.tree.text(within(above, "pom.xml")) or ""
        if f"<module>{relative(above, home)}</module>" not in text:
            break
        home = above
    return home


def sbt(target: Target) -> Command | None:
    """`testOnly` in the outermost build: it looks for the class in all its projects."""
    builds = list(nearest(target, "build.sbt"))
    if not builds:
        return None
    folder, path = builds[-1]
    own = (f"*{_class(target)}",)
    proof = _proof(target, path, PROJECT)
    return Command("sbt", "sbt 'testOnly ", proof, folder, files=own, glue=" ", end="'")
