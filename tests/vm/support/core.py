"""Resolves CO-RE relocations against the types of a kernel, by the rules of libbpf: same name without its `___flavour`,
same path of members, anonymous structs and unions are searched."""
from support.bpf_object import ENUM_KINDS, FIELD_KINDS, TYPE_LOCAL
from support.btf import ARRAY, ENUM, ENUM64, FUNC, FWD, INT, STRUCT, TYPEDEF, UNION

_ALIKE = {UNION: STRUCT, ENUM: INT, ENUM64: INT}  # kinds that are interchangeable at the end of a path


def _plain(name):
    return name.split("___")[0]


def _steps(types, relocation):
    """The members on the path, by name; array indices as numbers."""
    number, steps = types.bare(relocation.type), []
    for index in map(int, relocation.path.split(":")[1:]):
        if types.kind(number) == ARRAY:
            steps.append(index)
            number = types.bare(types.element(number))
        else:
            name, kind, _ = types.members(number)[index]
            steps += [name] if name else []
            number = types.bare(kind)
    return steps, number


def _member(kernel, number, name):
    for found, kind, _ in kernel.members(number):
        inner = kernel.bare(kind)
        if found == name:
            return inner
        if not found and kernel.kind(inner) in (STRUCT, UNION) and (below := _member(kernel, inner, name)):
            return below
    return None


def _walk(kernel, number, steps):
    """The type at the end of the path, or None."""
    for step in steps:
        if isinstance(step, int):
            number = kernel.bare(kernel.element(number)) if kernel.kind(number) == ARRAY else None
        else:
            number = _member(kernel, number, step) if kernel.kind(number) in (STRUCT, UNION) else None
        if number is None:
            return None
    return number


def _describe(types, relocation):
    name = _plain(types.name(types.bare(relocation.type)) or types.name(relocation.type))
    if relocation.kind in ENUM_KINDS:
        return f"enum {name} {_plain(types.enumerators(types.bare(relocation.type))[int(relocation.path)])}"
    if relocation.kind not in FIELD_KINDS:
        return name
    steps, _ = _steps(types, relocation)
    return ".".join([name, *map(str, steps)])


def resolves(types, relocation, kernel):
    """Whether the kernel has the type or field of the relocation."""
    if relocation.kind == TYPE_LOCAL:
        return True
    local = relocation.type if types.kind(relocation.type) == TYPEDEF else types.bare(relocation.type)
    candidates = kernel.find(_plain(types.name(local)), types.kind(local))
    if relocation.kind in ENUM_KINDS:
        wanted = _plain(types.enumerators(types.bare(relocation.type))[int(relocation.path)])
        both = kernel.find(_plain(types.name(local)), ENUM, ENUM64)
        return any(wanted in kernel.enumerators(candidate) for candidate in both)
    if relocation.kind not in FIELD_KINDS:
        return bool(candidates)
    steps, end = _steps(types, relocation)
    kind = _ALIKE.get(types.kind(end), types.kind(end))
    for candidate in candidates:
        found = _walk(kernel, kernel.bare(candidate), steps)
        if found is not None and _ALIKE.get(kernel.kind(found), kernel.kind(found)) in (kind, FWD):
            return True
    return False


def missing(bpf_object, kernel):
    """{function: types and fields that this kernel lacks}, the attach points of programs included."""
    lost = {}
    for relocation in bpf_object.relocations():
        if not resolves(bpf_object.types, relocation, kernel):
            lost.setdefault(relocation.function, set()).add(_describe(bpf_object.types, relocation))
    for program, section in bpf_object.programs.items():
        kind, _, name = section.partition("/")
        if kind == "tp_btf" and not kernel.find(f"btf_trace_{name}", TYPEDEF):
            lost.setdefault(program, set()).add(f"tracepoint {name}")
        if kind == "iter" and not kernel.find(f"bpf_iter__{name}", STRUCT):
            lost.setdefault(program, set()).add(f"iterator {name}")
    absent = {f"function {name}" for name in bpf_object.kernel_functions() if not kernel.find(name, FUNC)}
    return lost | ({"weak externs": absent} if absent else {})
