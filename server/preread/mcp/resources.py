"""Published dossiers as MCP resources: `dossier://{feature}/{file}`."""

import json
import re
import time
from typing import TYPE_CHECKING

from mcp_types import Completion, Resource, ResourceTemplate, TextResourceContents

from preread import fingerprint
from preread.builds import staleness
from preread.builds.reply_cache import ReplyCache
from preread.dossier import published
from preread.errors import PrereadError
from preread.gates import fence
from preread.gates.feature_names import is_feature
from preread.layout import BY_NAME, MANIFEST, Layout
from preread.mcp import quoted
from preread.services import Services

if TYPE_CHECKING:
    from preread.builds.watching import News

SCHEME = "dossier://"
TEMPLATE = "dossier://{feature}/{file}"
URI = re.compile(r"dossier://([^/]+)/([^/]+)")
NAMES = (*BY_NAME, MANIFEST)
STALE = 'It may be out of date; load_context with feature="{feature}" refreshes it. Why: {why}\n\n'
MAX_VALUES = 100  # in one completion; the protocol's limit


def template() -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=TEMPLATE,
        name="dossier",
        title="Dossier file",
        description="One file of a feature's published dossier.",
    )


def listed(services: Services) -> list[Resource]:
    """Every file of every published dossier."""
    layout = services.layout
    return [
        Resource(
            uri=f"dossier://{feature}/{name}",
            name=f"{feature}/{name}",
            title=f"{BY_NAME[name].title if name in BY_NAME else 'Manifest'}: {feature}",
            mime_type=_mime_type(name),
        )
        for feature in published.features(layout)
        for name in files(layout, feature)
    ]


def files(layout: Layout, feature: str) -> list[str]:
    """The names of a dossier's files, in the dossier's order."""
    folder = layout.dossier(feature)
    return [name for name in NAMES if (folder / name).is_file()]


def changed(news: "News") -> list[str]:
    """The URIs of what reads differently now: files, and with a dossier's staleness all its texts.

    Those of a dossier that nothing was known of are all its files.
    """
    found = []
    for feature in (*news.now, *news.gone):
        was, now = news.before.get(feature), news.now.get(feature)
        before, after = dict(was.files if was else ()), dict(now.files if now else ())
        has_changed = was is None or now is None or was.files != now.files
        is_refreshed = was is not None and bool(was.why) and now is not None and not now.why
        has_new_note = was is None or now is None or was.why != now.why
        names = {
            name
            for name in {*before, *after}
            if has_new_note or before.get(name) != after.get(name)
        }
        names |= {MANIFEST} if has_changed or is_refreshed else set()
        found += [f"{SCHEME}{feature}/{name}" for name in NAMES if name in names]
    return found


def is_list_changed(news: "News") -> bool:
    """Whether files have appeared or gone."""
    if news.new or news.gone:
        return True
    both = ((news.before.get(feature), now) for feature, now in news.now.items())
    return any(was and dict(was.files).keys() != dict(now.files).keys() for was, now in both)


def parsed(uri: str) -> tuple[str, str]:
    """The feature and the file that a URI names, published or not.

    Raises E_FEATURE_NAME and E_NOT_FOUND.
    """
    matched = URI.fullmatch(uri)
    if matched is None:
        hint = f"Resources are {TEMPLATE}."
        raise PrereadError("E_NOT_FOUND", f"{_shown(uri)} is not a resource.", hint)
    feature, name = matched.groups()
    if not is_feature(feature):
        message = f"In {_shown(uri)}, {_shown(feature)} is not a feature name."
        raise PrereadError("E_FEATURE_NAME", message, "A feature name looks like `login`.")
    if name not in NAMES:
        hint = f"Files: {', '.join(NAMES)}."
        message = f"In {_shown(uri)}, {_shown(name)} is not a dossier file."
        raise PrereadError("E_NOT_FOUND", message, hint)
    return feature, name


def read(
    services: Services, uri: str, fresh: ReplyCache[bool] | None = None
) -> TextResourceContents:
    """One published file, after a note if its dossier is stale. `fresh` caches which are not stale.

    Raises E_FEATURE_NAME, E_NOT_FOUND and E_OUTSIDE.
    """
    feature, name = parsed(uri)
    text = _text(services.layout, feature, name)
    if text is None:
        raise PrereadError(
            "E_NOT_FOUND",
            f"There is no {name} for {feature}.",
            f"Build it: `preread load {feature}`",
        )
    is_data = name == MANIFEST
    shown = json.dumps(quoted.fenced(json.loads(text))) if is_data else fence.block(text)
    if not is_data and (why := _why_stale(services, feature, fresh)):
        shown = STALE.format(feature=feature, why=fence.inline(why)) + shown
    return TextResourceContents(uri=uri, mime_type=_mime_type(name), text=shown)


def _why_stale(services: Services, feature: str, fresh: ReplyCache[bool] | None) -> str:
    if fresh is not None and fresh.get(feature):
        return ""
    begun = time.time_ns()
    why = staleness.why(services, feature)
    found = published.read(services.layout, feature) if fresh is not None and not why else None
    if fresh is not None and found is not None and found.manifest is not None:
        fresh.put(feature, fingerprint.take(services, found.manifest, begun), True)
    return why


def _text(layout: Layout, feature: str, name: str) -> str | None:
    layout.guard(feature)
    found = published.read(layout, feature)
    if found is None:
        return None
    if name == MANIFEST:
        return published.manifest_bytes(found.manifest).decode() if found.manifest else None
    return found.texts.get(name)


def completed(services: Services, argument: str, start: str, feature: str) -> Completion:
    """The published features, or a dossier's files, that begin with `start`."""
    layout = services.layout
    values: list[str] = []
    if argument == "feature":
        values = published.features(layout)
    elif argument == "file":
        values = files(layout, feature) if is_feature(feature) else list(NAMES)
    found = [value for value in values if value.startswith(start)]
    return Completion(values=found[:MAX_VALUES], total=len(found), has_more=len(found) > MAX_VALUES)


def _mime_type(name: str) -> str:
    return "text/markdown" if name in BY_NAME else "application/json"


def _shown(text: str) -> str:
    return ascii(text[:100])
