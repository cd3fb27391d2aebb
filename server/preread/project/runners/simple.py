"""Tools that simply take a file or a name: for Ruby, PHP, Swift, .NET, Elixir, Dart."""

import re
from pathlib import PurePosixPath

from preread.project.runners.model import (
    Command,
    Proof,
    Runner,
    Target,
    folders,
    line_with,
    nearest,
    relative,
    shell,
    within,
)

TEST_TASK = re.compile(r"\bRake::TestTask\.new(?:\(\s*:?[\"']?([\w:]+)|\s+:([\w:]+))?")
LOADED = re.compile(r"^\s*(?:require|require_relative)\b")
TEST_PACKAGE = re.compile(
    r"Include=\"(?:Microsoft\.NET\.Test\.Sdk|xunit[\w.]*|NUnit[\w.]*|MSTest[\w.]*|TUnit[\w.]*)\""
    r"|\bSdk=\"MSTest\.Sdk"
)


def _taking_a_path(
    tool: str, start: str, names: tuple[str, ...], pattern: re.Pattern[str], *, several: bool = True
) -> Runner:
    """A runner called as `start PATH`, if the nearest of these files matches the pattern."""

    def runner(target: Target) -> Command | None:
        for folder, path in nearest(target, *names):
            proof = line_with(target.tree, path, pattern)
            if proof is not None:
                file = shell(relative(folder, target.test))
                if several:
                    return Command(tool, start, proof, folder, files=(file,))
                return Command(tool, f"{start} {file}", proof, folder)
        return None

    return runner


def _bundle(target: Target, folder: str) -> str:
    return "bundle exec " if within(folder, "Gemfile") in target.tree.files else ""


def rspec(target: Target) -> Command | None:
    if not target.test.endswith("_spec.rb"):
        return None
    for folder, path in nearest(target, ".rspec", "spec/spec_helper.rb"):
        proof = line_with(target.tree, path, re.compile(r"^\s*--|RSpec|rspec"))
        if proof is not None:
            file = shell(relative(folder, target.test))
            return Command("rspec", f"{_bundle(target, folder)}rspec", proof, folder, files=(file,))
    return None


_rails = _taking_a_path("rails", "bin/rails test", ("bin/rails",), LOADED)


def rails(target: Target) -> Command | None:
    return None if target.test.endswith("_spec.rb") else _rails(target)


def rake(target: Target) -> Command | None:
    for folder, path in nearest(target, "Rakefile"):
        for number, line in enumerate(target.tree.lines(path) or (), 1):
            if match := TEST_TASK.search(line):
                start = f"{_bundle(target, folder)}rake {match[1] or match[2] or 'test'}"
                run = f"{start} TEST={shell(relative(folder, target.test))}"
                return Command("rake", run, Proof(path, number, number), folder)
    return None


cucumber = _taking_a_path(
    "cucumber", "bundle exec cucumber", ("Gemfile",), re.compile(r"[\"']cucumber[\"']")
)
pest = _taking_a_path(
    "pest", "vendor/bin/pest", ("composer.json",), re.compile(r'"pestphp/pest"\s*:'), several=False
)
PHPUNIT = (("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"), re.compile(r"<phpunit\b"))
_phpunit = _taking_a_path("phpunit", "vendor/bin/phpunit", *PHPUNIT, several=False)
_bridge = _taking_a_path("phpunit", "vendor/bin/simple-phpunit", *PHPUNIT, several=False)


def phpunit(target: Target) -> Command | None:
    """PHPUnit, by way of Symfony's bridge if a project requires only that."""
    found = _phpunit(target)
    composer = found and target.tree.text(within(found.folder, "composer.json"))
    if composer and "symfony/phpunit-bridge" in composer and "phpunit/phpunit" not in composer:
        return _bridge(target)
    return found


mix = _taking_a_path("mix", "mix test", ("mix.exs",), re.compile(r"use Mix\.Project"))


def swift(target: Target) -> Command | None:
    for folder, path in nearest(target, "Package.swift"):
        proof = line_with(target.tree, path, re.compile(r"\.testTarget\("))
        if proof is not None:
            name = target.group or PurePosixPath(target.test).stem
            return Command("swift", f"swift test --filter {shell(name)}", proof, folder)
    return None


def dotnet(target: Target) -> Command | None:
    """The project file of the nearest folder that has one, filtered by the test's class."""
    for folder in folders(target.test):
        own = sorted(p for p in target.tree.files if _is_project(p) and folders(p)[0] == folder)
        if not own:
            continue
        if _is_for_old_tools(target.tree.text(own[0]) or ""):
            return None
        shared = [
            path for _, path in nearest(target, "Directory.Build.props", "Directory.Build.targets")
        ]
        found = (line_with(target.tree, path, TEST_PACKAGE) for path in (*own, *shared))
        proof = next(filter(None, found), None)
        if proof is None:
            return None
        name = (target.group or PurePosixPath(target.test).stem).rpartition(".")[2]
        texts = (target.tree.text(path) or "" for _, path in nearest(target, "global.json"))
        has_new_runner = any("Microsoft.Testing.Platform" in one for one in texts)
        project = ("--project", shell(own[0])) if has_new_runner else (shell(own[0]),)
        start = f"dotnet test {' '.join(project)} --filter "
        files = (f"FullyQualifiedName~{name}",)
        return Command("dotnet", start, proof, files=files, glue="\\|")
    return None


def _is_project(path: str) -> bool:
    return path.endswith((".csproj", ".fsproj", ".vbproj"))


def _is_for_old_tools(project: str) -> bool:
    """Whether a project file is from before .NET's SDK, which then does not find its tests."""
    return "schemas.microsoft.com/developer/msbuild/2003" in project and "Sdk=" not in project


def dart(target: Target) -> Command | None:
    for folder, path in nearest(target, "pubspec.yaml"):
        for name, start in (("flutter_test", "flutter"), ("test", "dart")):
            proof = line_with(target.tree, path, re.compile(rf"^\s+{name}:"))
            if proof is not None:
                file = shell(relative(folder, target.test))
                return Command(start, f"{start} test", proof, folder, files=(file,))
    return None
