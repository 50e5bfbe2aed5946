"""Writes segment-v1.bin, segment-v1-fenced.bin and segment-v1-opens.bin: version 1 segments made from docs/format.md alone,
sharing no code with pmio. The second one has the features fenced_records and durable_fences, the third one the open table too.

A released format never changes, so neither does the file. --dump prints the hexadecimal dump that docs/format.md shows.
"""
import pathlib
import struct
import sys

SEGMENT = 256 << 10
HEADER = 8192
SALT = 0x0123456789ABCDEF


def crc32c(seed, data):
    crc = ~seed & 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return ~crc & 0xFFFFFFFF


def header(compat):
    path = b"/scratch/run/out.nc"
    body = struct.pack("<QQQQQ", compat, 0, SEGMENT, SALT, 0xC0FFEE)  # compat, incompat, segment_bytes, salt, job
    body += struct.pack("<II", 1, 0)  # rank, slot
    body += struct.pack("<QQQ", 0xFE00, 4711, 1_700_000_000_000_000_000)  # target: device, inode, birth_ns
    body += struct.pack("<QQ", 5_000_000_000, 1_700_000_100_000_000_000)  # start_ns, start_realtime_ns
    body += struct.pack("<II", 4, len(path)) + path.ljust(4096, b"\0")  # ranks, path_length, path
    return b"PMIOSEG1" + struct.pack("<II", 1, crc32c(0, body)) + body


def record(index, data, offset, block, stride, stamp, position, call, flags, fenced=0):
    kind = 1 if block == len(data) else 2
    return packed(index, crc32c(0, data), offset, len(data), block, stride, stamp, position // 8, call, kind, flags, fenced)


def seal(index):
    return packed(index, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, index)


def packed(index, *fields):
    body = struct.pack("<IQQQQQIIHHI", *fields)
    seed = crc32c(0, struct.pack("<Q", SALT)) ^ (index * 0x9E3779B1 & 0xFFFFFFFF)
    return struct.pack("<I", crc32c(seed, body)) + body


def open_copy(number, *fields):
    body = struct.pack("<IQIIIII28x", *fields)  # update, open, ranks, rank, begin_call, begin_later, last_call
    seed = crc32c(0, struct.pack("<Q", SALT)) ^ ((2**32 - 1 - number) * 0x9E3779B1 & 0xFFFFFFFF)
    return struct.pack("<I", crc32c(seed, body)) + body


def segment(fenced, opens=False):
    out = bytearray(SEGMENT)
    first = header((3 if fenced else 0) | (4 if opens else 0))
    out[:len(first)] = first
    extent, vector = b"hello, persistent log", bytes(range(0x10, 0x28))
    records = [record(0, extent, 1000, len(extent), 0, 5_000_001_000, HEADER, 0, 0),
               record(1, vector, 4096, 8, 32, 5_000_002_000, HEADER + 24, 1, 0x101 if opens else 1, 1 if fenced else 0)]
    if fenced:
        records.append(seal(2))
    out[HEADER:HEADER + len(extent)] = extent
    out[HEADER + 24:HEADER + 24 + len(vector)] = vector
    if opens:  # after the last record two calls without data
        out[4224:4288] = open_copy(0, 2, 9, 4, 1, 0, 0, 3)
        out[4288:4352] = open_copy(1, 1, 9, 4, 1, 0, 0, 0)
    for i, line in enumerate(records):
        out[SEGMENT - 64 * (i + 1):SEGMENT - 64 * i] = line
    return bytes(out)


def dump(data, begin, end):
    for at in range(begin, end, 16):
        row = data[at:at + 16]
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        print(f"{at:08x}  {row[:8].hex(' ')}  {row[8:].hex(' ')}  |{text}|")


if __name__ == "__main__":
    if "--dump" in sys.argv:
        for part in ((0, 0x90), (HEADER, HEADER + 48), (SEGMENT - 192, SEGMENT)):
            dump(segment(True), *part)
            print()
    else:
        folder = pathlib.Path(__file__).parent
        (folder / "segment-v1.bin").write_bytes(segment(False))
        (folder / "segment-v1-fenced.bin").write_bytes(segment(True))
        (folder / "segment-v1-opens.bin").write_bytes(segment(True, True))
