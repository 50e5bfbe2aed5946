"""Network namespaces, joined by a bridge in one of their own: the machine's own network never sees them."""

from __future__ import annotations

import json

from .settings import LOGIN, Settings
from .system import TestbedError, run

SWITCH = "switch"


def namespaces(name: str) -> list[str]:
    """The namespaces of that testbed."""
    listed = json.loads(run("ip", "-json", "netns", "list") or "[]")
    return [entry["name"] for entry in listed if entry["name"].startswith(f"pmio-{name}-")]


def create_switch(settings: Settings) -> None:
    """The bridge, with the login host on it."""
    switch = settings.namespace(SWITCH)
    run("ip", "netns", "add", switch)
    run("ip", "-n", switch, "link", "set", "lo", "up")
    run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
    run("ip", "-n", switch, "link", "set", "bridge", "up")
    attach(settings, LOGIN)


def attach(settings: Settings, host: str) -> None:
    """Gives the host a fresh network namespace with a link to the switch."""
    switch, namespace = settings.namespace(SWITCH), settings.namespace(host)
    run("ip", "netns", "add", namespace)
    run("ip", "-n", switch, "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    run("ip", "-n", switch, "link", "set", host, "master", "bridge", "up")
    run("ip", "-n", namespace, "address", "add", f"{settings.address(host)}/24", "dev", "eth0")
    run("ip", "-n", namespace, "link", "set", "lo", "up")
    run("ip", "-n", namespace, "link", "set", "eth0", "up")
    limit(settings, host)


def detach(settings: Settings, host: str) -> None:
    """Pulls the plug, if it is in."""
    switch = settings.namespace(SWITCH)
    links = json.loads(run("ip", "-json", "-n", switch, "link", "show"))
    if host in [link["ifname"] for link in links]:
        run("ip", "-n", switch, "link", "delete", host)


def limit(settings: Settings, host: str) -> None:
    """Gives both directions of the host's link the rate of the settings. Without one the processor is the limit."""
    rate = settings.rates.get(host, "none")
    discipline = ["noqueue"] if rate == "none" else ["tbf", "rate", rate, "burst", "256kb", "latency", "50ms"]
    for namespace, device in [(settings.namespace(host), "eth0"), (settings.namespace(SWITCH), host)]:
        try:
            run("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *discipline)
        except TestbedError as error:
            raise TestbedError(f"rate {rate}: {error}; give a rate as 1gbit or 500mbit, or none") from None


def set_link(settings: Settings, host: str, state: str) -> None:
    """state: up or down."""
    run("ip", "-n", settings.namespace(host), "link", "set", "eth0", state)


def link_state(settings: Settings, host: str) -> str:
    """up or down."""
    link = json.loads(run("ip", "-json", "-n", settings.namespace(host), "link", "show", "eth0"))[0]
    return "up" if "UP" in link["flags"] else "down"
