"""Preread from Python: `with Client(".") as preread: preread.load("checkout")`."""

from preread.client.clients import AsyncClient, Client
from preread.client.transports import Send, State, Transport
from preread.errors import PrereadError

__all__ = ["AsyncClient", "Client", "PrereadError", "Send", "State", "Transport"]
