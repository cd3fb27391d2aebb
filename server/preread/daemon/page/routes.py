"""The page's routes: login and logout, static files, one route per view."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from preread.daemon.logins import VISIT_SECONDS, cookie_name
from preread.daemon.page import views
from preread.daemon.page.render import FOLDER, HEADERS, page
from preread.daemon.page.visit import Failed, Visit
from preread.daemon.peers import Peer, Refused, status_of
from preread.daemon.serving import Serving
from preread.errors import PrereadError

View = Callable[[Visit], Awaitable[tuple[str, dict[str, Any]]]]
VIEWS: dict[str, View] = {
    "/": views.dossiers,
    "/dossier/{feature}": views.dossier,
    "/graph": views.graph,
    "/builds": views.builds,
    "/costs": views.costs,
    "/tests": views.tests,
    "/gates": views.gates,
    "/memory": views.memory,
    "/search": views.search,
}
FIRST = frozenset(path.split("/")[1] for path in VIEWS)


def is_page(path: str) -> bool:
    """Whether this path shows visitors who are not logged in how to do so."""
    return path.startswith("/") and path.split("/")[1] in FIRST


def routes(serving: Serving) -> list[BaseRoute]:
    pages = Pages(serving)
    return [
        Mount("/static", Files(directory=FOLDER / "static")),
        Route("/code", pages.code, methods=["POST"]),
        Route("/leave", pages.leave, methods=["POST"]),
        Route("/cancel/{feature}", pages.cancel, methods=["POST"]),
        *(Route(path, pages.showing(view)) for path, view in VIEWS.items()),
    ]


class Files(StaticFiles):
    """The page's static files, which a browser revalidates each time."""

    async def get_response(self, path: str, scope: Any) -> Response:  # noqa: ANN401 - Starlette's
        found = await super().get_response(path, scope)
        found.headers.update({**HEADERS, "cache-control": "no-cache"})
        return found


class Pages:
    """The handlers of the routes."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def code(self, request: Request) -> Response:
        """A login code: only for processes of this user, over the Unix socket."""
        peer: Peer = request.scope["state"]["peer"]
        if not peer.is_local:
            raise Refused(403, "Codes for the page are given only over the Unix socket.")
        given = request.query_params
        code = self._serving.logins.code(given.get("scope", "read"), given.get("namespace", ""))
        return Response(code, media_type="text/plain")

    async def leave(self, request: Request) -> Response:
        name = cookie_name(request.headers.get("host", ""))
        self._serving.logins.leave(request.cookies.get(name, ""))
        found = RedirectResponse("/", 303, HEADERS)
        found.delete_cookie(name)
        return found

    async def cancel(self, request: Request) -> Response:
        visit = Visit(self._serving, request.scope["state"]["peer"], request)

        async def cancelled(visit: Visit) -> tuple[str, dict[str, Any]]:
            await visit.ask("builds.cancel", feature=visit.given("feature"))
            return await views.builds(visit)

        found = await _shown(cancelled, visit)
        return found if found.status_code != 200 else RedirectResponse(visit.url("/builds"), 303)

    def showing(self, view: View) -> Callable[[Request], Awaitable[Response]]:
        async def show(request: Request) -> Response:
            if "code" in request.query_params and request.method == "GET":
                return self._enter(request)
            peer: Peer | None = request.scope.get("state", {}).get("peer")
            if peer is None:
                return page("login.html", {"is_wrong": False}, 401)
            return await _shown(view, Visit(self._serving, peer, request))

        return show

    def _enter(self, request: Request) -> Response:
        """Exchange a code for a cookie, and redirect to the address without the code."""
        cookie = self._serving.logins.redeem(request.query_params["code"])
        if cookie is None:
            return page("login.html", {"is_wrong": True}, 401)
        found = RedirectResponse("/", 303, {**HEADERS, "cache-control": "no-store"})
        found.set_cookie(
            cookie_name(request.headers.get("host", "")), cookie, max_age=int(VISIT_SECONDS),
            httponly=True, samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip
        return found


async def _shown(view: View, visit: Visit) -> Response:
    """A view as HTML, or the page that shows its error."""
    try:
        await visit.find_projects()
        if not visit.wanted and len(visit.roots) != 1:
            return page("projects.html", {"visit": visit})
        await visit.choose_project()
        name, values = await view(visit)
        return page(name, {**values, "visit": visit})
    except Failed as failed:
        error = failed.error
    except PrereadError as failure:
        error = {"code": failure.code, "message": failure.message, "hint": failure.hint}
    return page("failed.html", {"visit": visit, "error": error}, status_of(error["code"]))
