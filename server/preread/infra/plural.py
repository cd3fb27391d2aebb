"""Numbers of things, in words."""


def counted(number: int, noun: str) -> str:
    """`1 file`, `1,200 files`; `noun` is in the singular, and its plural ends in s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
