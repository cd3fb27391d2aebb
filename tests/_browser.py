"""A real headless Chromium for tests: its program from npm, driven by Playwright.

README's test command installs `@sparticuz/chromium`, which has all that Chromium needs within it, so
that no package of the system is needed. Elsewhere than on x86-64 Linux, an installed one will do.
"""

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from _claude import PREFIX

VERSION = "147.0.0"
PACKAGES = PREFIX / "node_modules"
FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync
    --disable-background-networking --disable-component-update
""".split()
# It unpacks its libraries only where it takes itself to be in a cloud function.
UNPACK = "import(process.argv[1]).then(m => m.default.executablePath())"
expect.set_options(timeout=60_000)  # for what takes a moment; the machine may be busy
_REQUIRED = bool(os.environ.get("CI") or os.environ.get("PREREAD_REQUIRE_CLAUDE"))


def _program() -> tuple[str, dict[str, str]] | None:
    """A Chromium, and the environment that it needs."""
    package = PACKAGES / "@sparticuz" / "chromium"
    if package.is_dir() and (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        place = Path(tempfile.gettempdir()) / f"preread-chromium-{VERSION}"
        with FileLock(f"{place}.lock"):
            if not (place / "unpacked").exists():
                place.mkdir(exist_ok=True)
                unpack = ["node", "-e", UNPACK, str(package / "build" / "esm" / "index.js")]
                cloud = {"TMPDIR": str(place), "AWS_EXECUTION_ENV": "AWS_Lambda_nodejs22.x"}
                subprocess.run(unpack, env={"PATH": os.environ["PATH"], **cloud}, check=True)
                (place / "unpacked").touch()
        return str(place / "chromium"), {"LD_LIBRARY_PATH": str(place / "al2023" / "lib")}
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    return (found, {}) if found else None


@contextmanager
def browser(home: Path) -> Iterator[Browser]:
    """A browser of its own, with an empty profile."""
    found = _program()
    if found is None:
        reason = "there is no Chromium: README's test command installs one"
        (pytest.fail if _REQUIRED else pytest.skip)(reason)
    program, more = found
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **more}
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program, args=FLAGS, env=environ, timeout=120_000
        )
        yield running
        running.close()


def axe(page: Page) -> list[str]:
    """What axe has to say against a page."""
    page.evaluate((PACKAGES / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:200]} {node['any'][:1] and node['any'][0]['message']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def contrast(page: Page, scheme: str) -> list[str]:
    """What axe has to say against the colours of the other scheme, after `axe` on the same page."""
    page.emulate_media(color_scheme=scheme)
    found = page.evaluate("axe.run(document, {runOnly: ['color-contrast']})")
    return [node["html"][:200] for one in found["violations"] for node in one["nodes"]]


def context(running: Browser, *, dark: bool = False, width: int = 1280) -> BrowserContext:
    """A profile of its own with a window of this width."""
    found = running.new_context(
        color_scheme="dark" if dark else "light",
        viewport={"width": width, "height": 900},
        device_scale_factor=1,
        locale="en-US",
    )
    found.set_default_timeout(60_000)
    return found
