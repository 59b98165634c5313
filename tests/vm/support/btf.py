"""A minimal BTF parser: types by name and kind, members, function arguments."""
import struct

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, PROTO, VAR, SECTION, FLOAT, \
    DECL_TAG, TYPE_TAG, ENUM64 = range(1, 20)
# Bytes that follow the common 12 of a type: (once, for each of its `vlen` parts).
_TAIL = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12), ENUM: (0, 8), PROTO: (0, 8), VAR: (4, 0),
         SECTION: (0, 12), DECL_TAG: (4, 0), ENUM64: (0, 12)}
_TRANSPARENT = {TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG}


class Btf:
    def __init__(self, data):
        size, types, types_size, strings, strings_size = struct.unpack_from("<5I", data, 4)
        self._data = data
        self._strings = data[size + strings:size + strings + strings_size]
        self._at = [None]  # by type id
        self._by_name = {}
        position, end = size + types, size + types + types_size
        while position < end:
            name, info = struct.unpack_from("<II", data, position)
            kind, parts = info >> 24 & 31, info & 0xffff
            once, each = _TAIL.get(kind, (0, 0))
            if name:
                self._by_name.setdefault(name, []).append(len(self._at))
            self._at.append((position, name, kind, parts, info >> 31))
            position += 12 + once + each * parts

    def text(self, offset):
        return self._strings[offset:self._strings.index(b"\0", offset)].decode()

    def kind(self, number):
        return self._at[number][2] if number else 0

    def name(self, number):
        return self.text(self._at[number][1]) if number else "void"

    def target(self, number):
        """The type that a pointer, typedef, qualifier or function refers to; the size of a struct or an int."""
        return struct.unpack_from("<I", self._data, self._at[number][0] + 8)[0]

    def bare(self, number):
        while number and self.kind(number) in _TRANSPARENT:
            number = self.target(number)
        return number

    def find(self, name, *kinds):
        offset = self._strings.find(b"\0" + name.encode() + b"\0")
        return [number for number in self._by_name.get(offset + 1, []) if self.kind(number) in kinds] if offset >= 0 else []

    def members(self, number):
        """[(name, type, offset in bits)]"""
        position, _, _, parts, is_bitfields = self._at[number]
        rows = struct.iter_unpack("<III", self._data[position + 12:position + 12 + 12 * parts])
        return [(self.text(name), kind, offset & 0xffffff if is_bitfields else offset) for name, kind, offset in rows]

    def element(self, number):
        return struct.unpack_from("<I", self._data, self._at[number][0] + 12)[0]

    def enumerators(self, number):
        position, _, kind, parts, _ = self._at[number]
        size = 12 if kind == ENUM64 else 8
        return [self.text(struct.unpack_from("<I", self._data, position + 12 + i * size)[0]) for i in range(parts)]

    def section_types(self, number):
        """The types of the variables in a section of an object."""
        position, _, _, parts, _ = self._at[number]
        return [struct.unpack_from("<I", self._data, position + 12 + i * 12)[0] for i in range(parts)]

    def arguments(self, number):
        """Number of arguments of a function prototype."""
        return self._at[number][3]
