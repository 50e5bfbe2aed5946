"""What a study has measured: rows that are kept as it goes, so that one that was stopped goes on."""

import json
import os
import platform
import time
from pathlib import Path


def machine():
    """What a reader must know of the machine to compare with another one."""
    model = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]  # fmt: skip
    memory = int(Path("/proc/meminfo").read_text().split()[1]) >> 20
    return {"processor": model[0] if model else platform.machine(), "processors": os.cpu_count(),
            "memory_gib": memory, "kernel": platform.release()}  # fmt: skip


def path_of(documents, name):
    return documents / "figures" / f"study-{name}.json"


class Rows:
    """Each is {"cell": what was measured, "repetition": number, "value": {...}}, or has "failed": why, and no value."""

    def __init__(self, path, what, resume):
        """what: the study's options; rows of others are refused, if it is not None. SystemExit says so."""
        self.path, self.what, self.rows = path, what, []
        self.machine, self.date = machine(), time.strftime("%Y-%m-%d")
        if not path.exists():
            return
        if not resume:
            raise SystemExit(f"{path} is there: --resume goes on with it, or remove it")
        document = json.loads(path.read_text())
        self.what = what or document["options"]
        if document["options"] != self.what:
            raise SystemExit(f"{path} is of {document['options']}, not {what}: give the same, or remove it")
        self.rows = document["rows"]
        self.machine, self.date = document["machine"], document["date"]

    def has(self, cell, repetition):
        """Whether there is a value: what failed is tried again."""
        return any("value" in row and row["cell"] == cell and row["repetition"] == repetition for row in self.rows)

    def add(self, cell, repetition, measured):
        """measured: the value, or in a str why there is none. It takes the place of what is there."""
        self.rows = [row for row in self.rows if row["cell"] != cell or row["repetition"] != repetition]
        result = {"failed": measured} if isinstance(measured, str) else {"value": measured}
        self.rows.append({"cell": cell, "repetition": repetition, **result})
        self.save()

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(self.path.name + ".part")
        document = {"options": self.what, "machine": self.machine, "date": self.date, "rows": self.rows}
        unfinished.write_text(json.dumps(document, indent=1) + "\n")
        unfinished.replace(self.path)

    def values(self, key, **cell):
        """Of all repetitions of the only cell that has these parts, that number of the value."""
        return [row["value"][key] for row in self.rows
                if "value" in row and key in row["value"] and all(row["cell"].get(k) == v for k, v in cell.items())]  # fmt: skip

    def failed(self):
        return [row for row in self.rows if "failed" in row]
