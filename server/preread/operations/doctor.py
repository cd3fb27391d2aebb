"""`doctor`: check that everything Preread needs is there, and say how to fix what is not."""

from preread.layout import Layout
from preread.models import Model
from preread.operations import doctor_machine, doctor_project
from preread.operations.health import HealthCheck
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services
from preread.settings import Settings


class DoctorRequest(RequestModel):
    """Nothing to choose."""


class DoctorReply(Model):
    """Everything that was checked; `ok` is false if a check failed."""

    ok: bool
    looks: tuple[HealthCheck, ...]


async def doctor(
    context: Context,
    request: DoctorRequest,  # noqa: ARG001 - all operations have one shape
) -> DoctorReply:
    # Without the project's settings: if they cannot be read, that is one of the findings.
    personal = Settings(claude=context.environ.get("PREREAD_CLAUDE", ""))
    services = Services(Layout(context.start.absolute()), personal, context.environ)
    checks = await in_thread(context, services, _checks)
    return DoctorReply(ok=all(check.state != "fail" for check in checks), looks=checks)


def _checks(services: Services) -> tuple[HealthCheck, ...]:
    return (*doctor_machine.checks(services), *doctor_project.checks(services))


OPERATION = Operation(
    name="config.doctor",
    request=DoctorRequest,
    reply=DoctorReply,
    effect="read",
    doc="Check that everything Preread needs is there, and say how to fix what is not.",
    example="preread doctor",
    run=doctor,
    command="doctor",
)
