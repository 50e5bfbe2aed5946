"""Writes nodes-v2.bin, a nodes note of version 2, and journal-v1.bin, the recovery journal of the same job: made from
docs/format.md alone, sharing no code with pmio. A released format never changes, so neither do the files.
"""
import pathlib
import struct

from make_segment_v1 import crc32c

PATH = b"/scratch/run/out.nc"
HOSTS = [(b"n0", [0, 2]), (b"node-one", [1, 3, 4])]
MEMBERS = b"".join(struct.pack(f"<II{len(ranks)}I", len(ranks), len(host), *ranks) + host for host, ranks in HOSTS)


def note(node):
    ranks = HOSTS[node][1]
    body = struct.pack("<QQQ", 0xFE00, 4711, 1_700_000_000_000_000_000)  # target: device, inode, birth_ns
    body += struct.pack("<IIIIQ", node, len(HOSTS), len(ranks), len(PATH), len(MEMBERS))
    body += struct.pack(f"<{len(ranks)}I", *ranks) + PATH + MEMBERS
    return b"PMIONOD1" + struct.pack("<II", 2, crc32c(0, body)) + body


def chunk(kind, node, base, count, payload):
    body = struct.pack("<IIQQ", node, len(HOSTS), base, count) + payload
    return b"PMIOJRN1" + struct.pack("<II", kind, crc32c(0, body)) + body


def journal():
    claims = [(1000, 21, 0, 1, 9, 1), (4096, 8, 32, 3, 8, 4)]  # offset, block_length, stride, blocks, stamp, rank
    out = chunk(1, 0, 7, len(MEMBERS), MEMBERS)
    out += chunk(2, 1, 0, len(claims), b"".join(struct.pack("<6Q", *claim) for claim in claims))
    out += chunk(3, 1, 0, 0, b"")
    return out + chunk(2, 0, 0, 1, struct.pack("<6Q", *claims[0]))[:-1]  # torn


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    (here / "nodes-v2.bin").write_bytes(note(1))
    (here / "journal-v1.bin").write_bytes(journal())
