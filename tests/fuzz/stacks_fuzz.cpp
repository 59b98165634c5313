// Records of stacks, code objects and ranges. A watched process can choose a part of their content.
#include <set>

#include "fuzz.h"
#include "kernel/features/decode.h"
#include "model/growth/mapped_growth.h"
#include "sources/python/python_code.h"
#include <memscope/shared/ranges.h>

namespace memscope::fuzz {
namespace {

std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

void check_stack(std::string_view bytes) {
    const auto stack = parsed(decode_stack(as_bytes(bytes)));
    if (!stack) return;
    require(stack->python.size() <= MS_PYTHON_FRAMES && stack->native.size() <= MS_NATIVE_FRAMES, "a stack is bounded");
}

void check_code(std::string_view bytes, int version) {
    const auto record = parsed(decode_code(as_bytes(bytes)));
    if (!record) return;
    const PythonCode code = decode_python_code(*record, version);
    require(code.function.size() < MS_CODE_NAME_BYTES && code.file.size() < MS_CODE_FILE_BYTES, "names are bounded");
    require(code.line_table.size() <= MS_LINE_TABLE_BYTES, "line tables are bounded");
    for (const std::uint32_t at : {0U, 2U, 1000U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFFU}) {
        const auto line = code.line(at);
        require(!line || *line >= 0, "a line is a line");
    }
}

// Few processes, threads and addresses, so that several events are about the same one.
void narrow(RangeEvent& event) {
    constexpr std::uint64_t kPages = 64, kPage = 4096;
    const auto narrowed = [](AddressRange range) {
        const std::uint64_t begin = range.begin % kPages, pages = (range.end - range.begin) % kPages;
        return AddressRange{begin * kPage, (begin + pages) * kPage};
    };
    event.id = {event.id.pid % 4 + 4, event.id.start_ns % 2};
    event.parent = event.parent % 4 + 4;
    event.thread = event.thread % 4 + 4;
    event.range = narrowed(event.range);
    event.old = narrowed(event.old);
    event.stack %= 4;
    event.time_ns %= 1024;
}

std::uint64_t mapped_bytes(const RangeMap& ranges) {
    std::uint64_t sum = 0, end = 0;
    for (const RangePiece& piece : ranges.ranges()) {
        require(piece.range.begin >= end && piece.range.end > piece.range.begin, "ranges are in order and apart");
        end = piece.range.end;
        sum += piece.range.end - piece.range.begin;
    }
    return sum;
}

void check_ranges(std::string_view bytes) {
    MappedGrowth growth;
    for (Input input(bytes); !input.empty();) {
        if (auto event = parsed(decode_range_event(as_bytes(input.take(sizeof(ms_range)))))) {
            narrow(*event);
            growth.apply(*event);
        }
    }
    growth.visit([](const MappedGrowth::Process& process) {
        std::uint64_t at_stacks = 0;
        for (const auto& [stack, its] : process.ranges.totals().stacks) at_stacks += its.sum().n;
        require(at_stacks <= mapped_bytes(process.ranges), "no stack has more than is mapped");
    });
}

}  // namespace

void one(std::string_view bytes) {
    check_stack(bytes);
    for (const int version : {310, 311, 314}) check_code(bytes, version);
    check_ranges(bytes);
}

}  // namespace memscope::fuzz
