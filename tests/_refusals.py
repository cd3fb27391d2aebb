"""System calls that are refused, as some file systems do: a library put before the C library."""

import subprocess
from pathlib import Path

import pytest

NO_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refused(int fd) {
    char name[64], path[4096] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (readlink(name, path, sizeof path - 1) < 0) return 0;
    if (strncmp(path, getenv("REFUSED_BELOW"), strlen(getenv("REFUSED_BELOW")))) return 0;
    errno = atoi(getenv("REFUSED_ERRNO"));
    return 1;
}

int flock(int fd, int operation) {
    return refused(fd) ? -1 : ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(fd, operation);
}

#define CONTROL(name)                                                             \\
    int name(int fd, int command, ...) {                                          \\
        va_list rest;                                                             \\
        va_start(rest, command);                                                  \\
        void *argument = va_arg(rest, void *);                                    \\
        va_end(rest);                                                             \\
        if ((command == F_SETLK || command == F_SETLKW) && refused(fd)) return -1; \\
        int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, #name); \\
        return real(fd, command, argument);                                       \\
    }
CONTROL(fcntl)
CONTROL(fcntl64)
"""


def without_locks(folder: Path, below: Path, number: int) -> dict[str, str]:
    """The environment of a process that can lock no file below a folder; `number` is the errno."""
    folder.mkdir()
    source, library = folder / "no_locks.c", folder / "no_locks.so"
    source.write_text(NO_LOCKS)
    command = ["cc", "-shared", "-fPIC", "-w", "-o", str(library), str(source), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no C compiler")
    return {
        "LD_PRELOAD": str(library),
        "REFUSED_BELOW": str(below.resolve()),
        "REFUSED_ERRNO": str(number),
    }
