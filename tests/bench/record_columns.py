#!/usr/bin/env python3
"""How small would the ticks of a recording be as columns?   record_columns.py RECORDING

A recording compresses a tick with zstd against a keyframe of the last minute. The alternative is to write a minute of ticks at
once as columns: for each field of each process the values of all ticks as differences, then zstd over all columns. Prints the
bytes of both for the same ticks. Reads recordings that are complete (no tick older than six hours)."""
import collections
import ctypes
import ctypes.util
import sqlite3
import struct
import sys

zstd = ctypes.CDLL(ctypes.util.find_library('zstd') or 'libzstd.so.1')
for name in ('ZSTD_createDCtx', 'ZSTD_DCtx_refPrefix', 'ZSTD_decompressDCtx', 'ZSTD_getFrameContentSize', 'ZSTD_compress', 'ZSTD_compressBound'):
    getattr(zstd, name).restype = ctypes.c_void_p if name == 'ZSTD_createDCtx' else ctypes.c_size_t
LEVEL = 3  # as userspace/recording/compression.cpp
TICKS = 60  # of a block


def compressed_size(data):
    out = ctypes.create_string_buffer(zstd.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    return zstd.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), LEVEL)


def decompressed(data, reference):
    context = ctypes.c_void_p(zstd.ZSTD_createDCtx())
    out = ctypes.create_string_buffer(zstd.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data))))
    if reference:
        zstd.ZSTD_DCtx_refPrefix(context, reference, ctypes.c_size_t(len(reference)))
    size = zstd.ZSTD_decompressDCtx(context, out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)))
    zstd.ZSTD_freeDCtx(context)
    if size != len(out):
        raise SystemExit('a tick cannot be decompressed')
    return out.raw


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def put_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def content_of(record):
    """The fields of a record without its header and its checksum."""
    _, at = varint(record, 8)
    length, at = varint(record, at)
    length, at = varint(record, at + length)
    return record[at:at + length]


def fields(data):
    """[(number, type, value)], or None if these bytes are no message. Text that looks like a message only changes its place."""
    found, at = [], 0
    try:
        while at < len(data):
            key, at = varint(data, at)
            kind = key & 7
            if key >> 3 == 0:
                return None
            if kind == 0:
                value, at = varint(data, at)
            elif kind == 1:
                value, at = struct.unpack_from('<Q', data, at)[0], at + 8
            elif kind == 2:
                length, at = varint(data, at)
                if at + length > len(data):
                    return None
                value, at = data[at:at + length], at + length
            else:
                return None
            found.append((key >> 3, kind, value))
    except (IndexError, struct.error):
        return None
    return found


def flatten(data, path, out):
    """Puts each value of a message into `out` by its path: field numbers, and which of several of the same number."""
    seen = collections.Counter()
    for number, kind, value in fields(data):
        place = (*path, number, seen[number])
        seen[number] += 1
        if kind == 2 and value and fields(value):
            out[(*place, 'message')] = (0, 1)
            flatten(value, place, out)
        else:
            out[place] = (kind, value)


def column(values):
    """The values of one field at all ticks. A tick without the field is one byte."""
    out, before = bytearray(), None
    for each in values:
        if each is None:
            out += b'\0'
        elif before is None or each[0] == 2 or before[0] != each[0]:
            if each == before:
                out += b'\1'
            else:
                raw = each[1] if each[0] == 2 else put_varint(each[1])
                out += b'\2' + put_varint(len(raw)) + raw
        else:
            change = each[1] - before[1]
            out += put_varint((2 * change if change >= 0 else -2 * change - 1) + 1)
        before = each if each is not None else before
    return bytes(out)


def main():
    database = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)
    keyframes, records, stored = {}, [], 0
    for number, base, packed in database.execute('select id, base, record from ticks order by id'):
        record = decompressed(packed, keyframes[base] if base else b'')
        if base is None:
            keyframes[number] = record
        records.append(record)
        stored += len(packed)
    columns = 0
    for first in range(0, len(records), TICKS):
        block = []
        for record in records[first:first + TICKS]:
            values = {}
            flatten(content_of(record), (), values)
            block.append(values)
        paths = sorted(set().union(*block), key=str)
        columns += compressed_size(b''.join(column([values.get(path) for values in block]) for path in paths)) \
            + compressed_size(repr(paths).encode())  # which columns there are
    print(f'{len(records)} ticks of {sum(map(len, records)) / len(records):.0f} bytes: {stored / len(records):.0f} bytes each '
          f'against a keyframe, {columns / len(records):.0f} as columns of {TICKS} ticks')


main()
