"""Reads the types of a kernel (BTF) from its image, without booting it."""
import lzma
import re
import struct
import subprocess
import zlib


def _tool(name):
    return lambda data: subprocess.run([name, "-dc"], input=data, capture_output=True, check=False).stdout


# Trailing bytes follow each payload, so tools report an error although the output is complete.
UNPACK = {
    b"\x1f\x8b": lambda data: zlib.decompressobj(31).decompress(data),
    b"\xfd7zXZ": lambda data: lzma.LZMADecompressor().decompress(data),
    b"\x28\xb5\x2f\xfd": _tool("zstd"),
    b"\x02\x21\x4c\x18": _tool("lz4"),
}


def _unpacked(data):
    for magic, unpack in UNPACK.items():
        if data.startswith(magic):
            return unpack(data)
    return data


def _payload(data):
    """The unpacked kernel, or the image itself if it is not packed."""
    if data[0x202:0x206] == b"HdrS":  # x86: the boot protocol has the position, from version 2.08 on
        offset, length = struct.unpack_from("<II", data, 0x248)
        begin = (data[0x1f1] + 1) * 512 + offset
        return _unpacked(data[begin:begin + length])
    if data[4:8] == b"zimg":  # an EFI program that unpacks the kernel, as arm64 may have
        offset, length = struct.unpack_from("<II", data, 8)
        return _unpacked(data[offset:offset + length])
    return _unpacked(data)


def types_of(image):
    """The bytes of the BTF section. An arm64 image has no section table, so it is found by its header: magic, version,
    and strings that follow the types."""
    data = _payload(image.read_bytes())
    for match in re.finditer(rb"\x9f\xeb\x01\x00", data):
        header = data[match.start() + 4:match.start() + 24]
        if len(header) < 20:
            continue
        size, type_offset, type_size, string_offset, string_size = struct.unpack("<5I", header)
        end = match.start() + size + string_offset + string_size
        if 24 <= size <= 64 and string_offset >= type_offset + type_size and type_size > 1 << 20 and end <= len(data):
            return data[match.start():end]
    raise ValueError(f"no BTF in {image}")
