"""Checked by mypy: what it must accept, and what it must refuse, which is marked."""

from preread.client import AsyncClient, Client


def sync(client: Client) -> float:
    found = client.knowledge.search("coupon", kind="trap")
    return found.facts[0].confidence


async def later(client: AsyncClient) -> str:
    return (await client.load("checkout", level="light")).status


def wrong(client: Client) -> str:
    client.knowledge.search(7)  # type: ignore[arg-type]
    client.load("checkout", levle="light")  # type: ignore[call-arg]
    client.knowledge.serch("coupon")  # type: ignore[attr-defined]
    return client.status()  # type: ignore[return-value]
