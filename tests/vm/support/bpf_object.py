"""A BPF object file: its programs, and its CO-RE relocations."""
import struct
from dataclasses import dataclass

from support.btf import FUNC, SECTION, Btf

# Kinds of CO-RE relocations (enum bpf_core_relo_kind).
FIELD_KINDS, TYPE_LOCAL, ENUM_KINDS = range(0, 6), 6, (10, 11)  # the others are about whole types


@dataclass(frozen=True)
class Relocation:
    function: str  # the program, or the function it calls
    type: int      # in the object's own types
    path: str      # "0:3:1": array index, then members
    kind: int


class BpfObject:
    def __init__(self, path):
        self._data = path.read_bytes()
        self._read_sections()
        self.types = Btf(self._section(".BTF"))
        self.programs = {name: section for name, section, _, _ in self._functions if "/" in section}

    def _read_sections(self):
        table, = struct.unpack_from("<Q", self._data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self._data, 0x3a)
        rows = [struct.unpack_from("<IIQQQQIIQQ", self._data, table + i * size) for i in range(count)]
        text = lambda section, offset: self._data[rows[section][4] + offset:].split(b"\0", 1)[0].decode()
        self._sections = [(text(names, row[0]), row) for row in rows]
        self._functions = []  # (name, section, begin, end)
        for _, row in self._sections:
            if row[1] != 2:  # SHT_SYMTAB
                continue
            for position in range(row[4], row[4] + row[5], 24):
                name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", self._data, position)
                if info & 15 == 2:  # STT_FUNC
                    self._functions.append((text(row[6], name), self._sections[section][0], value, value + length))

    def _section(self, name):
        row = next(row for found, row in self._sections if found == name)
        return self._data[row[4]:row[4] + row[5]]

    def _function_at(self, section, offset):
        return next(name for name, where, begin, end in self._functions if where == section and begin <= offset < end)

    def relocations(self):
        data = self._section(".BTF.ext")
        size, = struct.unpack_from("<I", data, 4)
        begin, length = struct.unpack_from("<II", data, 24)
        position, end = size + begin + 4, size + begin + length
        while position < end:
            name, count = struct.unpack_from("<II", data, position)
            position += 8
            section = self.types.text(name)
            for _ in range(count):
                offset, kind_of, path, kind = struct.unpack_from("<4I", data, position)
                position += 16
                yield Relocation(self._function_at(section, offset), kind_of, self.types.text(path), kind)

    def kernel_functions(self):
        """Names of the kernel functions that it calls (kfuncs): the externs of section .ksyms."""
        return [self.types.name(number) for section in self.types.find(".ksyms", SECTION)
                for number in self.types.section_types(section) if self.types.kind(number) == FUNC]
