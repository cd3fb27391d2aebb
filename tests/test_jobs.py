"""Running builds: joined, detached, stopped, counted. The work waits for the test."""

import threading
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from preread.builds.jobs import Caller, Jobs
from preread.errors import Cancelled, PrereadError
from preread.layout import Layout
from preread.models import LoadReply, Request
from preread.services import Services
from preread.settings import Settings

pytestmark = pytest.mark.anyio
BOUND = 10  # seconds; nothing here takes one


async def silent(message, done, total):
    pass


async def nothing_published():
    return None


PATIENT = Caller(None, silent)


class Work:
    """A build that reports its start, waits for the test, and counts its runs by feature."""

    def __init__(self, error=None):
        self.began = anyio.Event()
        self.go = anyio.Event()
        self.over = anyio.Event()
        self.runs = Counter()
        self.ended = Counter()
        self.error = error

    async def __call__(self, services, request):
        self.runs[request.feature] += 1
        self.began.set()
        try:
            await self.go.wait()
            if self.error is not None:
                raise self.error
        finally:
            self.ended[request.feature] += 1
            self.over.set()
        return LoadReply(
            status="ok", state="built", dossier=f"# {request.feature} {request.ticket}".strip()
        )


@asynccontextmanager
async def bounded_jobs(limit=None):
    with anyio.fail_after(BOUND):
        async with Jobs(limit) as jobs:
            yield jobs


@pytest.fixture
def services(tmp_path):
    return Services(layout=Layout(tmp_path), settings=Settings(), environ={})


class Call:
    """One call in its own task, which the test can cancel and whose outcome it can await."""

    def __init__(self, run):
        self.scope = anyio.CancelScope()
        self.returned = anyio.Event()
        self.reply = self.error = None
        self._run = run

    async def __call__(self):
        with self.scope:
            try:
                self.reply = await self._run()
            except PrereadError as error:
                self.error = error
        self.returned.set()


class Calls:
    """Calls side by side on one Jobs."""

    def __init__(self, jobs, services, tasks):
        self.jobs, self.services, self.tasks = jobs, services, tasks

    async def start(self, work, request, caller=PATIENT, look_up=nothing_published):
        call = Call(partial(self.jobs.run, self.services, request, look_up, work, caller))
        self.tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        return call


@asynccontextmanager
async def side_by_side(services, limit=None):
    async with bounded_jobs(limit) as jobs, anyio.create_task_group() as tasks:
        yield Calls(jobs, services, tasks)


LOGIN = Request(feature="login")


async def test_a_call_returns_what_its_build_replies(services):
    work = Work()
    work.go.set()
    async with bounded_jobs() as jobs:
        reply = await jobs.run(services, LOGIN, nothing_published, work, PATIENT)
    assert (reply.state, reply.dossier) == ("built", "# login")


async def test_a_published_dossier_is_returned_without_a_build(services):
    work = Work()

    async def look_up():
        return LoadReply(status="ok", state="cached")

    async with bounded_jobs() as jobs:
        reply = await jobs.run(services, LOGIN, look_up, work, PATIENT)
    assert reply.state == "cached"
    assert not work.runs


async def test_twenty_callers_of_one_feature_share_one_build(services):
    work = Work()
    async with side_by_side(services) as calls:
        started = [await calls.start(work, LOGIN) for _ in range(20)]
        work.go.set()
    assert work.runs == {"login": 1}
    assert Counter(call.reply.state for call in started) == {"built": 1, "joined": 19}


async def test_a_request_that_the_running_build_covers_joins_it(services):
    work = Work()
    deep = Request(feature="login", ticket="SHOP-1", description="two shoppers", level="full")
    async with side_by_side(services) as calls:
        await calls.start(work, deep)
        shallow = await calls.start(work, LOGIN)
        same = await calls.start(work, deep)
        work.go.set()
    assert work.runs == {"login": 1}
    assert shallow.reply.state == same.reply.state == "joined"


@pytest.mark.parametrize(
    "other",
    [
        Request(feature="login", level="full"),
        Request(feature="login", ticket="SHOP-2"),
        Request(feature="login", description="something else"),
    ],
)
async def test_a_request_that_the_running_build_does_not_cover_waits_and_builds_its_own(
    services, other
):
    first, second = Work(), Work()
    second.go.set()
    async with side_by_side(services) as calls:
        await calls.start(first, LOGIN)
        waiting = await calls.start(second, other)
        assert not second.runs
        first.go.set()
    assert second.runs == {"login": 1}
    assert waiting.reply.state == "built"


async def test_a_call_that_waited_for_another_build_looks_up_again_first(services):
    first, second = Work(), Work()
    looks = Counter()

    async def look_up():
        looks["times"] += 1
        return LoadReply(status="ok", state="cached") if looks["times"] > 1 else None

    async with side_by_side(services) as calls:
        await calls.start(first, LOGIN)
        waiting = await calls.start(
            second, Request(feature="login", ticket="SHOP-2"), look_up=look_up
        )
        first.go.set()
    assert waiting.reply.state == "cached"
    assert not second.runs


async def test_a_forced_call_does_not_join_a_build_that_began_before_it(services):
    first, second = Work(), Work()
    second.go.set()
    async with side_by_side(services) as calls:
        await calls.start(first, LOGIN)
        forced = await calls.start(second, Request(feature="login", force=True))
        first.go.set()
    assert second.runs == {"login": 1}
    assert forced.reply.state == "built"


async def test_forced_calls_that_wait_together_share_the_next_build(services):
    first, second = Work(), Work()
    second.go.set()
    async with side_by_side(services) as calls:
        await calls.start(first, LOGIN)
        forced = [await calls.start(second, Request(feature="login", force=True)) for _ in range(3)]
        first.go.set()
    assert second.runs == {"login": 1}
    assert Counter(call.reply.state for call in forced) == {"built": 1, "joined": 2}


async def test_a_forced_call_is_served_by_a_build_that_still_waits_for_its_turn(services):
    other, queued = Work(), Work()
    async with side_by_side(services, limit=1) as calls:
        await calls.start(other, Request(feature="cart"))
        await calls.start(queued, LOGIN)
        forced = await calls.start(queued, Request(feature="login", force=True))
        queued.go.set()
        other.go.set()
    assert queued.runs == {"login": 1}
    assert forced.reply.state == "joined"


async def test_the_cancellation_of_one_of_two_callers_leaves_the_build_to_the_other(services):
    work = Work()
    async with side_by_side(services) as calls:
        one = await calls.start(work, LOGIN)
        two = await calls.start(work, LOGIN)
        one.scope.cancel()
        await one.returned.wait()
        assert not work.ended
        work.go.set()
    assert one.reply is None
    assert two.reply.state == "joined"
    assert work.runs == {"login": 1}


async def test_the_cancellation_of_the_last_caller_ends_the_build(services):
    work = Work()
    async with side_by_side(services) as calls:
        callers = [await calls.start(work, LOGIN) for _ in range(2)]
        for call in callers:
            call.scope.cancel()
        await work.over.wait()
    assert work.ended == {"login": 1}


async def test_a_call_after_a_cancelled_build_gets_a_fresh_one(services):
    work, second = Work(), Work()
    second.go.set()
    async with side_by_side(services) as calls:
        one = await calls.start(work, LOGIN)
        one.scope.cancel()
        two = await calls.start(second, LOGIN)
    assert two.reply.state == "built"
    assert second.runs == {"login": 1}


async def test_a_cancelled_build_stops_its_worker_thread(services):
    entered, left = anyio.Event(), threading.Event()

    def blocking(progress):
        anyio.from_thread.run_sync(entered.set)
        try:
            while True:
                progress.check()
        finally:
            left.set()

    async def work(services, request):
        await anyio.to_thread.run_sync(blocking, services.progress)

    async with side_by_side(services) as calls:
        one = await calls.start(work, LOGIN)
        await entered.wait()
        one.scope.cancel()
    assert left.is_set()


async def test_a_caller_without_time_gets_building_and_the_next_call_joins(services):
    work = Work()
    async with side_by_side(services) as calls:
        hurried = await calls.start(work, LOGIN, Caller(0, silent))
        await hurried.returned.wait()
        assert (hurried.reply.status, hurried.reply.path) == ("building", ".project/context/login/")
        assert "same arguments" in hurried.reply.next
        again = await calls.start(work, LOGIN)
        work.go.set()
    assert work.runs == {"login": 1}
    assert again.reply.state == "joined"


@pytest.mark.parametrize("has_ended", [False, True])
async def test_a_forced_call_that_got_building_gets_that_build_when_it_calls_again(
    services, has_ended
):
    work, forced = Work(), Request(feature="login", force=True)
    async with side_by_side(services) as calls:
        hurried = await calls.start(work, forced, Caller(0, silent))
        await hurried.returned.wait()
        assert "same arguments" in hurried.reply.next
        if has_ended:
            work.go.set()
            await work.over.wait()
        again = await calls.start(work, forced)
        work.go.set()
        await again.returned.wait()
        assert (work.runs, again.reply.state) == ({"login": 1}, "built")
        await (await calls.start(work, forced)).returned.wait()
    assert work.runs == {"login": 2}, "another force is another build"


async def test_a_caller_that_times_out_waits_as_long_as_the_settings_say(tmp_path):
    services = Services(layout=Layout(tmp_path), settings=Settings(reply_within=0.01), environ={})
    work = Work()
    async with bounded_jobs() as jobs:
        reply = await jobs.run(
            services, LOGIN, nothing_published, work, Caller(None, silent, times_out=True)
        )
    assert reply.status == "building"


async def test_a_caller_without_time_behind_another_build_gets_building(services):
    work = Work()
    async with side_by_side(services) as calls:
        await calls.start(work, LOGIN)
        other = await calls.start(
            work, Request(feature="login", ticket="SHOP-2"), Caller(0, silent)
        )
        await other.returned.wait()
        assert other.reply.status == "building"
        work.go.set()
    assert work.runs == {"login": 1}


async def test_a_build_that_replied_building_continues_when_later_callers_are_cancelled(services):
    work = Work()
    async with side_by_side(services) as calls:
        hurried = await calls.start(work, LOGIN, Caller(0, silent))
        await hurried.returned.wait()
        again = await calls.start(work, LOGIN)
        again.scope.cancel()
        await again.returned.wait()
        assert not work.ended
        third = await calls.start(work, LOGIN)
        work.go.set()
    assert third.reply.state == "joined"


async def test_a_build_ends_at_its_deadline(tmp_path):
    services = Services(layout=Layout(tmp_path), settings=Settings(timeout=0.01), environ={})
    async with bounded_jobs() as jobs:
        with pytest.raises(PrereadError) as caught:
            await jobs.run(services, LOGIN, nothing_published, Work(), PATIENT)
    assert caught.value.code == "E_TIMEOUT"


async def test_time_spent_waiting_for_a_turn_does_not_count_against_the_deadline(tmp_path):
    services = Services(layout=Layout(tmp_path), settings=Settings(timeout=5), environ={})
    first = Work()
    deadlines = []

    async def second(services, request):
        deadlines.append(services.progress.deadline)
        return LoadReply(status="ok")

    async with side_by_side(services, limit=1) as calls:
        await calls.start(first, Request(feature="cart"))
        await calls.start(second, LOGIN)
        turn = time.monotonic()
        first.go.set()
    assert deadlines[0] >= turn + 5


async def test_the_error_of_a_build_reaches_every_caller_and_the_next_call_tries_again(services):
    failure = PrereadError("E_WRITE", "The disk is full.", "Make room.")
    work, second = Work(failure), Work()
    second.go.set()
    async with side_by_side(services) as calls:
        callers = [await calls.start(work, LOGIN) for _ in range(3)]
        work.go.set()
        await anyio.wait_all_tasks_blocked()
        later = await calls.start(second, LOGIN)
    assert [call.error for call in callers] == [failure] * 3
    assert later.reply.state == "built"


async def test_an_unexpected_exception_of_a_build_reaches_its_caller_as_it_is(services):
    work = Work(ZeroDivisionError("a bug"))
    work.go.set()
    async with bounded_jobs() as jobs:
        with pytest.raises(ZeroDivisionError, match="a bug"):
            await jobs.run(services, LOGIN, nothing_published, work, PATIENT)


async def test_different_features_are_built_side_by_side_up_to_the_limit(services):
    work = Work()
    async with side_by_side(services, limit=2) as calls:
        for feature in ("login", "cart", "checkout"):
            await calls.start(work, Request(feature=feature))
        assert work.runs == {"login": 1, "cart": 1}
        work.go.set()
    assert work.runs == {"login": 1, "cart": 1, "checkout": 1}


async def test_the_limit_is_the_setting_max_builds_unless_it_is_given(tmp_path):
    services = Services(layout=Layout(tmp_path), settings=Settings(max_builds=3), environ={})
    work = Work()
    async with side_by_side(services) as calls:
        for feature in ("a", "b", "c", "d"):
            await calls.start(work, Request(feature=feature))
        assert sum(work.runs.values()) == 3
        work.go.set()


@pytest.mark.parametrize("waiting", [0, 2])
async def test_at_most_max_waiting_builds_wait(tmp_path, waiting):
    settings = Settings(max_builds=1, max_waiting=waiting)
    here, there = (
        Services(layout=Layout(tmp_path / name), settings=settings, environ={})
        for name in ("here", "there")
    )
    work = Work()
    async with side_by_side(here) as calls:
        taken = [
            await calls.start(work, Request(feature=f"f{number}")) for number in range(1 + waiting)
        ]
        late = await calls.start(work, LOGIN)
        assert (late.error.code, late.error.details) == ("E_BUSY", {"waiting": waiting})
        joined = await calls.start(work, Request(feature=f"f{waiting}"))
        assert joined.error is None
        elsewhere = await Calls(calls.jobs, there, calls.tasks).start(work, LOGIN)
        assert elsewhere.error is None
        work.go.set()
        await joined.returned.wait()
        again = await calls.start(work, LOGIN)
    assert joined.reply.state == "joined"
    assert [call.reply.status for call in (*taken, again)] == ["ok"] * (waiting + 2)


async def test_the_limit_of_one_project_is_not_that_of_another(tmp_path):
    work = Work()
    small, large = (
        Services(layout=Layout(tmp_path / str(n)), settings=Settings(max_builds=n), environ={})
        for n in (1, 2)
    )
    async with bounded_jobs() as jobs, anyio.create_task_group() as tasks:
        for services, name in ((large, "large"), (small, "small")):
            for number in range(3):
                request = Request(feature=f"{name}-{number}")
                await Calls(jobs, services, tasks).start(work, request)
        assert work.runs == {"large-0": 1, "large-1": 1, "small-0": 1}
        work.go.set()


async def test_the_same_feature_of_two_projects_is_two_builds(tmp_path):
    work = Work()
    here, there = (
        Services(layout=Layout(tmp_path / name), settings=Settings(), environ={})
        for name in ("a", "b")
    )
    async with bounded_jobs() as jobs, anyio.create_task_group() as tasks:
        await Calls(jobs, here, tasks).start(work, LOGIN)
        await Calls(jobs, there, tasks).start(work, LOGIN)
        assert work.runs == {"login": 2}
        work.go.set()


async def test_progress_of_a_worker_thread_reaches_every_attached_caller(services):
    heard = {"one": [], "two": []}
    both_heard = threading.Event()

    def listener(name):
        async def tell(message, done, total):
            heard[name].append((message, done, total))
            if all(heard.values()):
                both_heard.set()

        return Caller(None, tell)

    def blocking(progress):
        progress.say("looking", 1, 5)
        assert both_heard.wait(BOUND)
        return LoadReply(status="ok")

    go = anyio.Event()

    async def work(services, request):
        await go.wait()
        return await anyio.to_thread.run_sync(blocking, services.progress)

    async with side_by_side(services) as calls:
        await calls.start(work, LOGIN, listener("one"))
        await calls.start(work, LOGIN, listener("two"))
        go.set()
    assert heard == {"one": [("looking", 1, 5)], "two": [("looking", 1, 5)]}


async def test_a_worker_thread_never_waits_for_a_slow_listener(services):
    stuck, said = anyio.Event(), threading.Event()

    async def tell(message, done, total):
        stuck.set()
        await anyio.sleep_forever()

    def blocking(progress):
        for number in range(10_000):
            progress.say("reading", number, 10_000)
        said.set()
        return LoadReply(status="ok")

    async def work(services, request):
        return await anyio.to_thread.run_sync(blocking, services.progress)

    async with side_by_side(services) as calls:
        slow = await calls.start(work, LOGIN, Caller(None, tell))
        await stuck.wait()
        assert await anyio.to_thread.run_sync(said.wait, BOUND)
        slow.scope.cancel()


async def test_a_listener_that_raises_detaches_its_caller_only(services):
    async def tell(message, done, total):
        raise PrereadError("E_WRITE", "The terminal is gone.")

    async def work(services, request):
        services.progress.say("reading", 1, 2)
        await go.wait()
        return LoadReply(status="ok", state="built")

    go = anyio.Event()
    async with side_by_side(services) as calls:
        other = await calls.start(work, LOGIN)
        broken = await calls.start(work, LOGIN, Caller(None, tell))
        go.set()
    assert broken.error.code == "E_WRITE"
    assert other.reply.state == "built"


async def test_stop_ends_builds_and_lookups_at_once_and_allows_no_new_ones(services):
    work = Work()
    async with AsyncExitStack() as stack:
        calls = await stack.enter_async_context(side_by_side(services))
        waiting = await calls.start(work, LOGIN)
        calls.jobs.stop()
        await waiting.returned.wait()
        late = await calls.start(work, Request(feature="cart"))
    assert isinstance(waiting.error, Cancelled)
    assert isinstance(late.error, Cancelled)
    assert work.runs == work.ended == {"login": 1}


async def test_stop_reaches_the_worker_thread_of_a_lookup(services):
    entered = anyio.Event()

    def looking():
        anyio.from_thread.run_sync(entered.set)
        while True:
            services.progress.check()

    async def look_up():
        return await anyio.to_thread.run_sync(looking)

    async with side_by_side(services) as calls:
        call = await calls.start(Work(), LOGIN, look_up=look_up)
        await entered.wait()
        calls.jobs.stop()
        await call.returned.wait()
    assert isinstance(call.error, Cancelled)


async def test_stop_may_be_called_from_another_thread(services):
    work = Work()
    async with side_by_side(services) as calls:
        waiting = await calls.start(work, LOGIN)
        await anyio.to_thread.run_sync(calls.jobs.stop)
        await waiting.returned.wait()
    assert isinstance(waiting.error, Cancelled)


async def test_leaving_the_jobs_ends_a_build_that_nobody_waits_for(services):
    work = Work()
    async with bounded_jobs() as jobs:
        reply = await jobs.run(services, LOGIN, nothing_published, work, Caller(0.01, silent))
        assert reply.status == "building"
    assert work.ended == {"login": 1}


async def test_an_exception_in_the_body_leaves_the_jobs_as_it_is(services):
    with pytest.raises(KeyError):
        async with bounded_jobs():
            raise KeyError("login")
