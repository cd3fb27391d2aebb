"""Whether a process that was noted down still lives: process ids are used again."""

CLOCK_SLACK = 5.0  # seconds by which the time of a start may differ between two readings


def born(pid: int) -> float:
    """When a process started, in epoch seconds; 0 if there is none."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


def lives(pid: int, since: float) -> bool:
    """Whether the process that started then is still there."""
    return abs(born(pid) - since) <= CLOCK_SLACK
