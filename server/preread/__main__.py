"""The command line's error boundary. Exit status: failure 1, bad usage 2, interrupt 130, bug 3."""

import gc
import os
import sys


def main() -> int:
    """Run one command line; returns its exit status."""
    argv = sys.argv[1:]
    if argv[:1] == ["mcp"]:
        from preread.daemon import relay  # first, because it needs no other imports

        if (status := relay.run(argv[1:], os.environ)) is not None:
            return status
    # A cached load should feel instant: do not search for pydantic plugins, and do not collect
    # garbage during imports.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.disable()
    try:
        return _run(argv)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _drop_stdout()
        return 0
    finally:
        _freeze_garbage()


def _freeze_garbage() -> None:
    """Exempt loaded objects from garbage collection, which takes a tenth of a second at exit."""
    gc.disable()
    gc.freeze()


def _drop_stdout() -> None:
    """The reader has closed the pipe: keep buffered output from failing again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _run(argv: list[str]) -> int:
    import click

    from preread.cli import arguments, commands, output
    from preread.errors import BUG, USAGE, PrereadError, from_os_error

    in_json = "--json" in argv
    _print_any_text()
    try:
        call = commands.parse(argv)
        _freeze_garbage()
        gc.enable()
        if isinstance(call, arguments.Call):
            return commands.execute(call, os.environ)
        return call() if callable(call) else call
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.UsageError as error:
        hint = f"See {error.ctx.command_path} --help." if error.ctx else "See preread --help."
        message = " ".join(error.format_message().split())  # click lists choices a line each
        output.print_error(PrereadError("E_USAGE", message, hint), in_json=in_json)
        return USAGE
    except click.Abort:
        return 130
    except (BrokenPipeError, SystemExit):
        raise
    except (PrereadError, OSError) as error:
        failure = from_os_error(error) if isinstance(error, OSError) else error
        output.print_error(failure, in_json=in_json)
        return failure.exit_status
    except Exception as error:
        hint = f"Please report it with the end of {_log(error, argv)}."
        bug = PrereadError("E_INTERNAL", f"{type(error).__name__}: {error}", hint)
        output.print_error(bug, in_json=in_json)
        return BUG


def _print_any_text() -> None:
    """Replace characters that the terminal's encoding lacks, rather than fail on them."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _log(error: BaseException, argv: list[str]) -> str:
    """Append the traceback to the project's log, or to a temporary file; returns the path."""
    import platform
    import tempfile
    import time
    import traceback

    from preread import __version__

    system = f"Python {platform.python_version()}, {platform.platform()}"
    head = f"{time.strftime('%Y-%m-%d %H:%M:%S')} preread {__version__}, {system}"
    text = f"\n{head}\n{argv}\n{''.join(traceback.format_exception(error))}"
    try:
        from preread.infra import atomic
        from preread.operations.registry import log_file

        path = log_file(_project(argv))
        atomic.append(path, text.encode("utf-8", "backslashreplace"))
    except Exception:  # a log that cannot be written must not hide the bug
        handle, name = tempfile.mkstemp(prefix="preread-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        return name
    return str(path)


def _project(argv: list[str]) -> str:
    """The value of --project, found without parsing the command line."""
    for argument, following in zip(argv, [*argv[1:], "."], strict=True):
        if argument == "--project":
            return following
        if argument.startswith("--project="):
            return argument.partition("=")[2]
    return "."


if __name__ == "__main__":
    sys.exit(main())
