"""Answers of agents: JSON of a fixed form, validated; prose is never parsed."""

import json
import re
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Literal, TypeVar

from pydantic import Field, StringConstraints, ValidationError, model_validator

from preread.gates.feature_names import is_feature
from preread.models import Model

A = TypeVar("A", bound="Answer")
MAX_TASKS, MAX_NAME = 8, 24
MAX_SHOWN = 5  # problems that are listed to the agent
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]


class Answer(Model):
    """The base of all answers; `FORMS` describes each one in the agent's prompt."""


class Task(Model):
    """One part of a larger task, for one codegen agent."""

    id: str
    task: str = Field(min_length=1, max_length=4000)
    needs: tuple[str, ...] = Field((), max_length=MAX_TASKS)

    @model_validator(mode="after")
    def _has_a_name(self) -> "Task":
        if len(self.id) > MAX_NAME or not is_feature(self.id) or self.id.startswith("_"):
            raise ValueError(
                f"{self.id[:60]!a} is not an id: lower-case letters, digits and single hyphens, at "
                f"most {MAX_NAME} characters"
            )
        return self


class Plan(Answer):
    """A graph of tasks: each starts when the tasks it needs are merged."""

    tasks: tuple[Task, ...] = Field(min_length=1, max_length=MAX_TASKS)

    @model_validator(mode="after")
    def _is_a_graph(self) -> "Plan":
        names = [task.id for task in self.tasks]
        if len(set(names)) < len(names):
            raise ValueError("two tasks have the same id")
        for task in self.tasks:
            if unknown := sorted(set(task.needs) - set(names)):
                raise ValueError(f"{task.id} needs {unknown[0][:60]!a}, which is not a task")
        try:
            self.order().prepare()
        except CycleError as error:
            raise ValueError(f"tasks need each other: {' → '.join(error.args[1])}") from error
        return self

    def order(self) -> "TopologicalSorter[str]":
        return TopologicalSorter({task.id: task.needs for task in self.tasks})


class Verdict(Answer):
    """What a reviewer says about a change."""

    verdict: Literal["approve", "reject"]
    findings: tuple[Line, ...] = Field((), max_length=50)


class Report(Answer):
    """What codegen says about its own work."""

    summary: str = Field(min_length=1, max_length=4000)
    decided: tuple[Line, ...] = Field((), max_length=5)
    learned: tuple[Line, ...] = Field((), max_length=5)


class Name(Model):
    """An entity that a reader found."""

    kind: str = Field(max_length=40)
    name: str = Field(max_length=300)
    quote: str = Field(max_length=2000)


class Link(Model):
    """A relation that a reader found."""

    source: str = Field("", max_length=300)
    kind: str = Field(max_length=40)
    target: str = Field(max_length=300)
    quote: str = Field(max_length=2000)


class Names(Answer):
    """What a reader found in a document."""

    entities: tuple[Name, ...] = Field((), max_length=2000)
    relations: tuple[Link, ...] = Field((), max_length=2000)


FORMS: dict[type[Answer], str] = {
    Plan: '{"tasks": [{"id": "short-name", "task": "what to do, where, and how it is tested", '
    f'"needs": ["ids of tasks that come first"]}}]}} with 1 to {MAX_TASKS} tasks',
    Verdict: '{"verdict": "approve" or "reject", "findings": ["path:line: what is wrong"]}',
    Report: '{"summary": "what you changed and what you could not do", '
    '"decided": ["a decision and its reason"], "learned": ["what the next one should know"]}',
    Names: '{"entities": [{"kind": "METHOD", "name": "as it is written", "quote": "exact words"}], '
    '"relations": [{"source": "or empty", "kind": "defines", "target": "a name", "quote": "exact '
    'words"}]}',
}


def request(form: type[Answer]) -> str:
    """The end of a prompt: the form of the answer, whatever the project's instructions say."""
    return f"Your last message is JSON and nothing else: {FORMS[form]}."


def read(form: type[A], text: str) -> A:
    """Parse and validate an answer. Raises ValueError, which says what is wrong with it."""
    fenced = FENCE.match(text)
    try:
        data = json.loads(fenced[1] if fenced else text)
        json.dumps(data, ensure_ascii=False).encode()  # JSON can contain lone surrogates
        return form.model_validate(data)
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part)[:60] for part in one['loc'])}: {one['msg']}".removeprefix(": ")
            for one in error.errors(include_url=False)[:MAX_SHOWN]
        ]
        raise ValueError("; ".join(problems)) from error
    except UnicodeEncodeError as error:
        raise ValueError("it is not valid Unicode text") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {str(error)[:120]}") from error


def complaint(form: type[Answer], text: str) -> str:
    """What to send back to the agent; empty for a valid answer."""
    try:
        read(form, text)
    except ValueError as error:
        return f"That answer cannot be used: {error}.\n{request(form)}"
    return ""
