"""`preread serve` and `preread token`: the daemon, and who may use it."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from preread import __version__
from preread.cli import terminal
from preread.cli.help import described

if TYPE_CHECKING:
    from preread.daemon.listening import Listen

Run = Callable[[], int]
SCOPES = ("read", "write", "execute")
IN_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def _print(*lines: str) -> int:
    click.echo("\n".join(lines))
    return 0


def _reply(as_json: bool, data: object, *lines: str) -> int:
    """Print a result: as JSON for programs, or as lines for people."""
    return _print(terminal.as_json(data)) if as_json else _print(*lines)


@click.group(
    invoke_without_command=True,
    **described(
        "Serve all your projects from one process, over HTTP and Unix sockets.",
        "preread serve --detach",
    ),
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Any other host needs a token."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=9742, show_default=True,
    help="0 takes a free port.",
)  # fmt: skip
@click.option("--http", is_flag=True, help="Only TCP.")
@click.option("--socket", is_flag=True, help="Only the Unix sockets.")
@click.option("--stdio", is_flag=True, help="MCP on the standard streams, like `preread mcp`.")
@click.option("--certificate", default="", metavar="FILE", help="TLS: the certificate.")
@click.option("--key", default="", metavar="FILE", help="TLS: its key.")
@click.option(
    "--issuer", default="", metavar="URL", help="OAuth: the issuer of access tokens for /mcp."
)
@click.option("--detach", is_flag=True, help="Run in the background.")
@click.option("--install", is_flag=True, help="Have systemd or launchd start it.")
@click.pass_context
def serve(
    ctx: click.Context, host: str, port: int, http: bool, socket: bool, stdio: bool,
    certificate: str, key: str, issuer: str, detach: bool, install: bool,
) -> Run | None:  # fmt: skip
    """Not an operation: it serves them."""
    if ctx.invoked_subcommand is not None:
        return None
    if stdio:
        return _stdio
    if install:
        return _install

    def run() -> int:
        from preread.daemon.listening import Listen

        faces = (http or not socket, socket or not http)
        listen = Listen(host, port, *faces, certificate, key, issuer)
        if detach:
            return _detach(listen)
        from preread.daemon import server

        server.run(os.environ, listen)
        return 0

    return run


def _stdio() -> int:
    from preread import mcp

    mcp.serve_stdio(None, os.environ)
    return 0


def _install() -> int:
    from preread.daemon import service

    return _print(*service.install(os.environ))


def _detach(listen: "Listen") -> int:
    from preread.daemon import service

    arguments = ["--host", listen.host, "--port", str(listen.port)]
    arguments += [] if listen.sockets else ["--http"]
    arguments += [] if listen.http else ["--socket"]
    for flag, path in (("--certificate", listen.certificate), ("--key", listen.key)):
        arguments += [flag, str(Path(path).absolute())] if path else []
    arguments += ["--issuer", listen.issuer] if listen.issuer else []
    found = service.detach(os.environ, arguments)
    return _print(f"The daemon runs as process {found.pid}: {found.address}")


@serve.command(
    **described("Allow a project's folder to be opened over HTTP.", "preread serve allow .")
)
@click.argument("folder", metavar="DIR", default=".")
@IN_JSON
def allow(folder: str, as_json: bool) -> Run:
    def run() -> int:
        from preread.daemon.namespaces import Namespaces

        root = Namespaces(os.environ).allow(Path(folder))
        return _reply(as_json, {"root": str(root)}, f"{root} may be opened over HTTP.")

    return run


@serve.command(
    **described(
        "Stop allowing a project's folder to be opened over HTTP.", "preread serve forbid ."
    )
)
@click.argument("folder", metavar="DIR", default=".")
@IN_JSON
def forbid(folder: str, as_json: bool) -> Run:
    def run() -> int:
        from preread.daemon.namespaces import Namespaces

        root = Namespaces(os.environ).forbid(Path(folder))
        said = f"{root} may not be opened over HTTP any more."
        return _reply(as_json, {"root": str(root)}, said)

    return run


@serve.command(
    **described("List the folders that may be opened over HTTP.", "preread serve namespaces")
)
@IN_JSON
def namespaces(as_json: bool) -> Run:
    def run() -> int:
        from preread.daemon.namespaces import Namespaces

        found = [str(root) for root in Namespaces(os.environ).allowed()]
        none = "No folder is allowed: `preread serve allow DIR` allows one."
        return _reply(as_json, found, *found or [none])

    return run


@serve.command(
    **described("Say whether a daemon runs; exit status 1 if not.", "preread serve status")
)
@IN_JSON
def status(as_json: bool) -> Run:
    def run() -> int:
        from preread.daemon import service

        found = service.status(os.environ)
        if found is None:
            _reply(as_json, None, "No daemon is running.")
            return 1
        minutes = (time.time() - found.since) / 60
        said = f"Process {found.pid}, version {found.version}, {minutes:.0f} min: {found.address}"
        said += "" if found.answers else " (does not answer)"
        if found.version != __version__:
            said += (
                f"\nClients of version {__version__} do not use it. Stop it, and start it again."
            )
        return _reply(as_json, found.model_dump(), said)

    return run


@serve.command(**described("Stop the daemon.", "preread serve stop"))
@IN_JSON
def stop(as_json: bool) -> Run:
    def run() -> int:
        from preread.daemon import service

        found = service.stop(os.environ)
        data = found.model_dump(include={"pid", "version", "address"})
        return _reply(as_json, data, f"Process {found.pid} has ended.")

    return run


@serve.command(**described("Print the end of the daemon's log.", "preread serve logs --lines 20"))
@click.option(
    "--lines", type=click.IntRange(min=1), default=50, show_default=True, help="How many."
)
def logs(lines: int) -> Run:
    def run() -> int:
        from preread.daemon import service

        return _print(*service.tail(os.environ, lines))

    return run


@serve.command(
    **described(
        "Print a one-time address of the daemon's page, to open in a browser.",
        "preread serve page --open",
    )
)
@click.option(
    "--scope", type=click.Choice(SCOPES[:2]), default="read", show_default=True,
    help="`write` can cancel builds.",
)  # fmt: skip
@click.option("--namespace", default="", metavar="DIR", help="Only this project.")
@click.option("--open", "opens", is_flag=True, help="Also open it.")
def page(scope: str, namespace: str, opens: bool) -> Run:
    def run() -> int:
        from preread.daemon import service
        from preread.operations.registry import root_of

        root = str(root_of(Path(namespace))) if namespace else ""
        address = service.page_address(os.environ, scope, root)
        if opens:
            click.launch(address)
        return _print(address)

    return run


@click.group(
    **described(
        "Make, list and revoke tokens for HTTP.", "preread token new --scope read --expires 30d"
    )
)
def token() -> None:
    """Not an operation: agents must not make tokens."""


@token.command(
    **described(
        "Make a token. It is shown only once.", "preread token new --scope read --expires 30d"
    )
)
@click.option(
    "--scope", type=click.Choice(SCOPES), required=True, help="Each includes those before it."
)
@click.option("--namespace", default="", metavar="DIR", help="Only for this project.")
@click.option("--expires", default=None, metavar="DURATION", help="Like 12h or 30d.")
@IN_JSON
def new(scope: str, namespace: str, expires: str | None, as_json: bool) -> Run:
    def run() -> int:
        from preread.daemon import tokens
        from preread.operations.registry import root_of

        root = str(root_of(Path(namespace))) if namespace else ""
        lifetime = tokens.seconds(expires) if expires else None
        chosen = next(each for each in tokens.SCOPES if each == scope)
        shown = tokens.Tokens(os.environ).new(chosen, root, lifetime)
        return _reply(as_json, {"token": shown}, shown)

    return run


@token.command("list", **described("List the tokens, without their secrets.", "preread token list"))
@IN_JSON
def list_(as_json: bool) -> Run:
    def run() -> int:
        from preread.daemon.tokens import Tokens

        found, lines = Tokens(os.environ).all(), []
        for one in found:
            end = time.strftime("%Y-%m-%d", time.gmtime(one.expires)) if one.expires else "never"
            state = "expired" if one.is_expired else f"expires {end}"
            lines.append(f"{one.id}  {one.scope:7}  {state}  {one.namespace or 'every project'}")
        none = "There is no token: `preread token new` makes one."
        data = [one.model_dump(exclude={"digest"}) for one in found]
        return _reply(as_json, data, *lines or [none])

    return run


@token.command(**described("Revoke a token.", "preread token revoke 3f9c1a2b"))
@click.argument("id_", metavar="ID")
@IN_JSON
def revoke(id_: str, as_json: bool) -> Run:
    def run() -> int:
        from preread.daemon.tokens import Tokens

        data = Tokens(os.environ).revoke(id_).model_dump(exclude={"digest"})
        return _reply(as_json, data, f"{id_} is revoked.")

    return run
