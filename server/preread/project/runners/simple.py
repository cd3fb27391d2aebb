"""Build tools that take a file or a name as it is: Ruby, PHP, Swift, .NET, Elixir, Dart, CTest."""

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
    shell,
    within,
)

TEST_TASK = re.compile(r"\bRake::TestTask\.new(?:\(\s*:?[\"']?([\w:]+)|\s+:([\w:]+))?")
LOADED = re.compile(r"^\s*(?:require|require_relative)\b")
TEST_PACKAGE = re.compile(
    r"Include=\"(?:Microsoft\.NET\.Test\.Sdk|xunit[\w.]*|NUnit[\w.]*|MSTest[\w.]*|TUnit[\w.]*)\""
)
REGISTERS = re.compile(
    r"\s*\w*(?:add|register)_?\w*test\w*\s*\(\s*(?:NAME\s+)?\"?([\w.-]+)\"?(?=[\s)])", re.IGNORECASE
)


def _bundle(target: Target, folder: str) -> str:
    return "bundle exec " if within(folder, "Gemfile") in target.tree.files else ""


def rspec(target: Target) -> Command | None:
    if not target.test.endswith("_spec.rb"):
        return None
    for folder, path in nearest(target, ".rspec", "spec/spec_helper.rb"):
        proof = line_with(target.tree, path, re.compile(r"^\s*--|RSpec|rspec"))
        if proof is not None:
            run = f"{_bundle(target, folder)}rspec {shell(relative(folder, target.test))}"
            return Command("rspec", run, proof, folder)
    return None


def rails(target: Target) -> Command | None:
    for folder, path in nearest(target, "bin/rails"):
        proof = line_with(target.tree, path, LOADED)
        if proof is not None and not target.test.endswith("_spec.rb"):
            return Command(
                "rails", f"bin/rails test {shell(relative(folder, target.test))}", proof, folder
            )
    return None


def rake(target: Target) -> Command | None:
    for folder, path in nearest(target, "Rakefile"):
        for number, line in enumerate(target.tree.lines(path) or (), 1):
            if told := TEST_TASK.search(line):
                start = f"{_bundle(target, folder)}rake {told[1] or told[2] or 'test'}"
                run = f"{start} TEST={shell(relative(folder, target.test))}"
                return Command("rake", run, Proof(path, number, number), folder)
    return None


def cucumber(target: Target) -> Command | None:
    for folder, path in nearest(target, "Gemfile"):
        proof = line_with(target.tree, path, re.compile(r"[\"']cucumber[\"']"))
        if proof is not None:
            run = f"bundle exec cucumber {shell(relative(folder, target.test))}"
            return Command("cucumber", run, proof, folder)
    return None


def pest(target: Target) -> Command | None:
    for folder, path in nearest(target, "composer.json"):
        proof = line_with(target.tree, path, re.compile(r'"pestphp/pest"\s*:'))
        if proof is not None:
            run = f"vendor/bin/pest {shell(relative(folder, target.test))}"
            return Command("pest", run, proof, folder)
    return None


def phpunit(target: Target) -> Command | None:
    for folder, path in nearest(target, "phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"):
        proof = line_with(target.tree, path, re.compile(r"<phpunit\b"))
        if proof is not None:
            run = f"vendor/bin/phpunit {shell(relative(folder, target.test))}"
            return Command("phpunit", run, proof, folder)
    return None


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
        shared = [
            path for _, path in nearest(target, "Directory.Build.props", "Directory.Build.targets")
        ]
        found = (line_with(target.tree, path, TEST_PACKAGE) for path in (*own, *shared))
        proof = next(filter(None, found), None)
        if proof is None:
            return None
        name = (target.group or PurePosixPath(target.test).stem).rpartition(".")[2]
        return Command(
            "dotnet", f"dotnet test {shell(own[0])} --filter FullyQualifiedName~{name}", proof
        )
    return None


def _is_project(path: str) -> bool:
    return path.endswith((".csproj", ".fsproj", ".vbproj"))


def mix(target: Target) -> Command | None:
    for folder, path in nearest(target, "mix.exs"):
        proof = line_with(target.tree, path, re.compile(r"use Mix\.Project"))
        if proof is not None:
            return Command("mix", f"mix test {shell(relative(folder, target.test))}", proof, folder)
    return None


def dart(target: Target) -> Command | None:
    for folder, path in nearest(target, "pubspec.yaml"):
        for name, start in (("flutter_test", "flutter"), ("test", "dart")):
            proof = line_with(target.tree, path, re.compile(rf"^\s+{name}:"))
            if proof is not None:
                run = f"{start} test {shell(relative(folder, target.test))}"
                return Command(start, run, proof, folder)
    return None


def ctest(target: Target) -> Command | None:
    """The test that a CMake file registers under the name of its file."""
    own = PurePosixPath(target.test)
    for _, path in nearest(target, "CMakeLists.txt"):
        for number, line in enumerate(target.tree.lines(path) or (), 1):
            told = REGISTERS.match(line)
            if told and told[1] in {own.stem, own.name}:
                proof = Proof(path, number, number)
                return Command("ctest", f"ctest -R {own.stem}", proof, "<build folder>")
    return None
