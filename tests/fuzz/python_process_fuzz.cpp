// A process that forges its whole interpreter: the table of offsets, code objects, strings. Its memory at any address
// is the input, repeated.
#include "fuzz.h"
#include "sources/python/python_code.h"
#include "sources/python/python_finder.h"
#include "sources/python/python_layout.h"

namespace memscope::fuzz {
namespace {

void require_safe(const ms_python& layout) {
    const auto is_word = [&](unsigned offset) { return offset % 8 == 0 && offset + 8U <= layout.frame_bytes; };
    require(layout.frame_bytes <= 112 && is_word(layout.frame_previous) && is_word(layout.frame_code) &&
                is_word(layout.frame_instruction) && layout.frame_owner < layout.frame_bytes,
            "the kernel side stays inside what it reads of a frame");
    require(layout.interpreter_next < 1U << 20U && layout.interpreter_threads < 1U << 20U, "offsets are bounded");
}

}  // namespace

void one(std::string_view bytes) {
    Input input(bytes);
    const std::uint64_t hole = input.number<std::uint64_t>();
    const auto record_bytes = input.take(sizeof(ms_code));
    const std::string_view content = input.rest();
    const ProcessMemory memory([&](std::uint64_t address, std::span<std::byte> into) -> Status {
        if (content.empty() || address >= hole) return system_error(EFAULT, "read fake memory");
        for (std::size_t i = 0; i < into.size(); ++i)
            into[i] = static_cast<std::byte>(content[(address + i) % content.size()]);
        return Done{};
    });

    ms_python layout = *python_layout(312);
    if (const auto told = parsed(python_layout(std::as_bytes(std::span(content))))) {
        require_safe(*told);
        layout = *told;
    }
    for (const ms_python& at : {layout, *python_layout(310)}) {
        if (const auto thread = parsed(first_python_thread(memory, at)))
            if (const auto place = find_pthread_tid(memory, at, *thread, 42))
                require(*place > 0 && *place % 4 == 0 && *place < 2048, "a thread id lies in struct pthread");

        ms_code record{};
        if (!record_bytes.empty()) std::memcpy(&record, record_bytes.data(), record_bytes.size());
        PythonCode code = decode_python_code(record, at.version);
        require(code.function.size() < MS_CODE_NAME_BYTES && code.file.size() < MS_CODE_FILE_BYTES &&
                    code.line_table.size() <= MS_LINE_TABLE_BYTES,
                "a record holds no more than its fields");
        const bool was_cut = code.is_cut();
        const auto completed = parsed(complete_python_code(code, memory, at, record.code));
        require(completed ? !code.is_cut() : code.is_cut() == was_cut, "all of it is completed, or nothing");
        require(code.function.size() <= 4 * kNameLimit && code.file.size() <= 4 * kNameLimit, "names are bounded");
        require(code.line_table.size() <= kLineTableLimit, "tables are bounded");
        code.line(record.first_line);
    }
    for (const unsigned size : {1U, 2U, 4U}) utf8_of(std::as_bytes(std::span(content)), size);
}

}  // namespace memscope::fuzz
