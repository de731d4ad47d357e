"""Zip archives, looked at before anything in them is read: no bomb, no entry twice."""

import zipfile
from collections import Counter

from pipelines.checkpoints.verdicts import Damage, Verdict

HARMLESS = 64 << 20
"""Bytes; an archive that unpacks to less is no bomb, however well it was compressed."""

LARGEST_DIRECTORY = 1_000_000
"""Entries of an archive; a checkpoint's has one a tensor."""


def vet(archive: zipfile.ZipFile, size: int, place: str, expansion: int) -> None:
    """Raise Damage for an archive of `size` bytes that is a bomb or names an entry twice.

    `expansion`: how many times its own size all its entries may take together.
    """
    entries = archive.infolist()
    if len(entries) > LARGEST_DIRECTORY:
        raise Damage(Verdict.BOMB, f"{place}: {len(entries):,} entries")
    told = sum(entry.file_size for entry in entries)
    if told > max(expansion * size, HARMLESS):
        text = (
            f"{place}: {size:,} bytes that unpack to {told:,}"
            f" (checkpoints.largest_expansion: {expansion} times)"
        )
        raise Damage(Verdict.BOMB, text)
    packed = sum(entry.compress_size for entry in entries)
    if packed > size:
        raise Damage(Verdict.BOMB, f"{place}: its entries overlap ({packed:,} of {size:,} bytes)")
    for name, count in Counter(entry.filename for entry in entries).items():
        if count > 1:
            raise Damage(Verdict.NAMED_TWICE, f"{place}: {name!r} stands in it {count} times")
    if any(entry.flag_bits & 1 for entry in entries):
        raise Damage(Verdict.UNREADABLE, f"{place}: is encrypted")


def in_order(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Its entries as they lie in the file."""
    return sorted(archive.infolist(), key=lambda entry: entry.header_offset)
