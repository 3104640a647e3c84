"""No test reaches a network, and hypothesis has two profiles: quick by default, thorough in CI."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=200,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_configure() -> None:
    """From here on only this machine can be reached; subprocesses are on their honour."""
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _guard_method(getattr(socket.socket, name)))
    socket.getaddrinfo = _guard_lookup(socket.getaddrinfo)
    os.environ["HF_HUB_OFFLINE"] = "1"  # its downloads use no Python socket


def _guard_method(original: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(sock: socket.socket, address: Any, *rest: Any) -> Any:
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            _refuse_unless_loopback(address[0])
        return original(sock, address, *rest)

    return guarded


def _guard_lookup(original: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(host: Any, *rest: Any, **options: Any) -> Any:
        _refuse_unless_loopback(host)
        return original(host, *rest, **options)

    return guarded


def _refuse_unless_loopback(host: object) -> None:
    if host is None or isinstance(host, bytes):
        host = (host or b"").decode("ascii", "replace")
    if host in ("", "localhost"):
        return
    try:
        if ipaddress.ip_address(str(host).partition("%")[0]).is_loopback:
            return
    except ValueError:
        pass  # a name that would have to be looked up
    # pytest's failure is no Exception, so that code which falls back on errors can't hide the attempt.
    pytest.fail(f"a test tried to reach {host!r}; only loopback addresses are allowed in tests", pytrace=True)
