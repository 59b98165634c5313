#include "walker.h"

#include <cstring>
#include <stdexcept>

#include "sources/python/python_layout.h"

namespace memscope {
namespace {

constexpr int kMostThreads = 100;
constexpr int kMostFrames = 1000;

template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message());
    return *std::move(result);
}

class Walker {
  public:
    Walker(const ProcessMemory& memory, const ms_python& layout) : memory_(memory), at_(layout) {}

    std::uint64_t thread_of(pid_t tid) const {
        for (auto interpreter = word(at_.runtime + at_.runtime_interpreters); interpreter != 0;
             interpreter = word(interpreter + at_.interpreter_next)) {
            auto thread = word(interpreter + at_.interpreter_threads);
            for (int i = 0; i < kMostThreads && thread != 0; ++i, thread = word(thread + at_.thread_next))
                if (tid_of(thread) == static_cast<std::uint32_t>(tid)) return thread;
        }
        throw std::runtime_error("Python has no thread " + std::to_string(tid));
    }

    WalkedStack stack_of(std::uint64_t thread) const {
        WalkedStack stack;
        auto frame = word(thread + at_.thread_frame);
        if (at_.cframe_frame != MS_PYTHON_NO_OFFSET) frame = word(frame + at_.cframe_frame);
        for (int i = 0; i < kMostFrames && frame != 0; ++i) {
            const auto bytes = must(memory_.read(frame, at_.frame_bytes));
            const auto field = [&]<class T>(std::uint16_t offset, T value) {
                std::memcpy(&value, bytes.data() + offset, sizeof value);
                return value;
            };
            frame = field(at_.frame_previous, std::uint64_t{});
            const auto code = field(at_.frame_code, std::uint64_t{}) & ~std::uint64_t{7};
            std::uint32_t instruction = 0;
            if (at_.frame_owner == MS_PYTHON_NO_OFFSET)
                instruction = field(at_.frame_instruction, std::uint32_t{}) * 2;
            else if (field(at_.frame_owner, std::uint8_t{}) >= 3)
                continue;  // an internal frame where C calls Python
            else
                instruction = static_cast<std::uint32_t>(field(at_.frame_instruction, std::uint64_t{}) - code -
                                                         at_.code_bytecode);
            add(stack, code, instruction);
        }
        return stack;
    }

  private:
    std::uint64_t word(std::uint64_t address) const { return must(memory_.read<std::uint64_t>(address)); }

    std::uint32_t tid_of(std::uint64_t thread) const {
        const auto id = word(thread + at_.thread_id);
        return at_.pthread_tid == 0 ? static_cast<std::uint32_t>(id)
                                    : must(memory_.read<std::uint32_t>(id + at_.pthread_tid));
    }

    template <std::size_t size>
    std::uint32_t copy_text(std::uint64_t text, char (&field)[size]) const {
        for (std::size_t i = 0; i + 1 < size; ++i) {
            field[i] = must(memory_.read<char>(text + at_.text_data + i));
            if (field[i] == '\0') break;
        }
        return must(memory_.read<std::uint32_t>(text + kTextState));
    }

    void add(WalkedStack& stack, std::uint64_t address, std::uint32_t instruction) const {
        ms_code record{};
        record.code = address;
        record.first_line = must(memory_.read<std::uint32_t>(address + at_.code_first_line));
        record.name_state = copy_text(word(address + at_.code_name), record.name);
        record.file_state = copy_text(word(address + at_.code_file), record.file);
        const auto table = word(address + at_.code_line_table);
        record.line_table_bytes = static_cast<std::uint32_t>(word(table + at_.bytes_size));
        const auto copied = must(
            memory_.read(table + at_.bytes_data, std::min<std::size_t>(record.line_table_bytes, MS_LINE_TABLE_BYTES)));
        std::memcpy(record.line_table, copied.data(), copied.size());

        PythonCode code = decode_python_code(record, at_.version);
        const auto frame = [&] { return PythonFrame{code.function, code.file, code.line(instruction).value_or(0)}; };
        stack.first_look.push_back(frame());
        if (code.is_cut()) must(complete_python_code(code, memory_, at_, address));
        stack.frames.push_back(frame());
    }

    const ProcessMemory& memory_;
    const ms_python& at_;
};

}  // namespace

WalkedStack walk(const ProcessMemory& memory, const ms_python& layout, pid_t own_tid) {
    const Walker walker(memory, layout);
    return walker.stack_of(walker.thread_of(own_tid));
}

}  // namespace memscope
