"""How a project runs a test file: the command and its folder, by the project's own settings."""

from preread.project.runners import builds, cargo, go, javascript, jvm, python, scripts, simple
from preread.project.runners.model import Command, Note, Proof, Runner, Target

__all__ = ["Command", "Note", "Proof", "Target", "command_for"]

# For each suffix the tools that may run such a test, the likeliest first.
RUNNERS: dict[str, tuple[Runner, ...]] = {
    **dict.fromkeys(("py",), (python.django, python.pytest, python.tox, python.unittest)),
    **dict.fromkeys(("go",), (go.go,)),
    **dict.fromkeys(("rs",), (cargo.cargo,)),
    **dict.fromkeys(("java", "kt", "groovy", "scala"), (jvm.gradle, jvm.maven, jvm.sbt)),
    **dict.fromkeys("js jsx ts tsx mjs cjs mts cts vue svelte".split(), (javascript.node,)),
    **dict.fromkeys(("rb",), (simple.rspec, simple.rails, simple.rake)),
    **dict.fromkeys(("feature",), (simple.cucumber,)),
    **dict.fromkeys(("php",), (simple.pest, simple.phpunit)),
    **dict.fromkeys(("swift",), (simple.swift,)),
    **dict.fromkeys(("cs", "fs", "vb"), (simple.dotnet,)),
    **dict.fromkeys(("ex", "exs"), (simple.mix,)),
    **dict.fromkeys(("dart",), (simple.dart,)),
    **dict.fromkeys(("c", "cc", "cpp", "cxx"), (builds.ctest,)),
}


def command_for(target: Target) -> Command | None:
    """How to run a test file by the project's own settings; None if they do not say."""
    suffix = target.test.rpartition(".")[2]
    for runner in (*RUNNERS.get(suffix, ()), *builds.ANY, scripts.wrapper):
        if (found := runner(target)) is not None:
            return found
    return None
