// Probes that a library says it has: notes in a file that a watched process mapped, and the text of their arguments.
#include <sys/mman.h>

#include "fuzz.h"
#include "sources/elf/usdt.h"
#include "sources/gpu/probed_libraries.h"
#include "support/usdt_note.h"

namespace memscope::fuzz {
namespace {

void check(const ms_operand& operand) {
    require(operand.kind <= MS_OPERAND_MEMORY, "an operand is of a known kind");
    require(operand.bytes == 1 || operand.bytes == 2 || operand.bytes == 4 || operand.bytes == 8, "it has a size");
    require(operand.register_at % 8 == 0 && operand.register_at <= 248, "its register is one");
    require(operand.skipped_bits == 0 || (operand.skipped_bits == 8 && operand.bytes == 2), "it has bits left");
}

}  // namespace

void one(std::string_view bytes) {
    Input input(bytes);
    const auto base = input.flag() ? std::optional(input.number<std::uint64_t>()) : std::nullopt;
    for (const Machine machine : {Machine::x86_64, Machine::aarch64})
        if (const auto operands = parsed(parse_operands(input.rest(), 3, machine))) {
            require(operands->size() == 3, "as many operands as were wanted");
            for (const ms_operand& operand : *operands) check(operand);
        }

    const std::string file = elf_with_notes(std::string(input.rest()), base);
    const Fd opened(::memfd_create("fuzz", MFD_CLOEXEC));
    require(::write(opened.get(), file.data(), file.size()) == static_cast<ssize_t>(file.size()), "the file is whole");
    const auto elf = ElfFile::open(opened);
    require(static_cast<bool>(elf), "the file around the notes is sound");
    if (const auto probes = parsed(read_usdt_probes(*elf, "pytorch")))
        for (const UsdtProbe& probe : *probes) {
            require(probe.offset < 0x200, "a probe is in code");
            require(probe.semaphore == 0 || (probe.semaphore >= 0x200 && probe.semaphore < 0x300), "its guard is not");
        }
    for (const Machine machine : {Machine::x86_64, Machine::aarch64})
        if (const auto places = parsed(gpu_tensor_places(*elf, machine))) {
            require(places->size() >= 2 && places->size() <= 16, "places are bounded");
            for (const GpuTensorPlace& place : *places) {
                check(place.site.pointer);
                if (place.site.event == MS_GPU_TENSOR_MALLOC) {
                    check(place.site.size);
                    check(place.site.device);
                }
            }
        }
}

}  // namespace memscope::fuzz
