"""How checks, repairs and backups look to a person."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.cli.terminal import Block, Table, age
from preread.infra.plural import counted

if TYPE_CHECKING:
    from preread.operations.integrity.backups import BackupsReply
    from preread.operations.integrity.gc import GcReply
    from preread.operations.integrity.repair import RepairReply
    from preread.operations.integrity.restore import RestoreReply
    from preread.operations.remove import RemoveReply


def remove(reply: "RemoveReply") -> Iterator[Block]:
    yield from (f"removed {path}" for path in reply.removed)
    yield from (f"kept {path}, which is not Preread's" for path in reply.kept)
    yield f"backup: {reply.backup}"
    yield reply.next


def repair(reply: "RepairReply") -> Iterator[Block]:
    yield from (f"repaired {one.path}: {one.message}: {one.fix}" for one in reply.repaired)
    yield from (f"left {one.path}: {one.message}" for one in reply.left)
    yield from (f"backup: {id_}" for id_ in reply.backups)
    if not reply.repaired and not reply.left:
        yield "Nothing was wrong."


def backups(reply: "BackupsReply") -> Iterator[Block]:
    rows = [
        (one.id, age(time.time() - one.at), one.why, f"{one.size:,} bytes", ", ".join(one.files))
        for one in reply.backups
    ]
    yield Table(("id", "age", "why", "size", "files"), rows) if rows else "No backups."


def restore(reply: "RestoreReply") -> Iterator[Block]:
    yield from (f"restored {path}" for path in reply.restored)
    yield from (f"left out {path}, which is damaged in the backup" for path in reply.damaged)
    if reply.next or not reply.restored:
        yield reply.next or "Nothing changed: the files are as in the backup."


def gc(reply: "GcReply") -> Iterator[Block]:
    yield from (f"removed the backup {id_}" for id_ in reply.backups)
    yield from (f"removed {path}" for path in reply.leftovers)
    yield f"removed {counted(reply.cached, 'cached result')} that belonged to no dossier"
