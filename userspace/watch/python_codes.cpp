#include "watch/python_codes.h"

#include <functional>
#include <string_view>

#include "sources/process_memory.h"

namespace memscope {
namespace {

// A process may make up code objects without end.
constexpr std::size_t kMostPerSpace = 8192;

std::size_t hash_of(const PythonCode& code) {
    const auto mix = [](std::size_t hash, std::size_t word) { return (hash ^ word) * 0x9E3779B97F4A7C15U; };
    const std::string_view lines(reinterpret_cast<const char*>(code.line_table.data()), code.line_table.size());
    std::size_t hash = std::hash<std::string_view>{}(code.function);
    hash = mix(hash, std::hash<std::string_view>{}(code.file));
    hash = mix(hash, std::hash<std::string_view>{}(lines));
    return mix(hash, static_cast<std::size_t>(code.first_line));
}

bool same(const PythonCode& a, const PythonCode& b) {
    return a.first_line == b.first_line && a.version == b.version && a.function == b.function && a.file == b.file &&
           a.line_table == b.line_table;
}

}  // namespace

// Forked workers have the code of their parent: it is kept once.
PythonCodes::CodePtr PythonCodes::shared(PythonCode code) {
    auto& alike = alike_[hash_of(code)];
    if (auto known = alike.lock(); known && same(*known, code)) return known;
    auto fresh = std::make_shared<const PythonCode>(std::move(code));
    alike = fresh;
    if (alike_.size() > 2 * sweep_at_) {
        std::erase_if(alike_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = std::max(sweep_at_, alike_.size());
    }
    return fresh;
}

void PythonCodes::add(const ms_code& record) {
    PythonCode code = decode_python_code(record, static_cast<int>(record.version));
    const auto pid = static_cast<pid_t>(record.h.pid);
    if (code.is_cut())
        if (const auto layout = signal_.python_of(pid))  // while it lives; else the part we have must do
            (void)complete_python_code(code, ProcessMemory::of(pid), *layout, record.code);
    Space& space = spaces_[SpaceId{record.h.target}];
    const Key key{record.code, record.first_line};
    if (space.codes.insert_or_assign(key, shared(std::move(code))).second) space.order.push_back(key);
    while (space.order.size() > kMostPerSpace) {
        space.codes.erase(space.order.front());
        space.order.pop_front();
    }
}

PythonFrame PythonCodes::frame(const RawStack& stack, const RawStack::PythonCall& call) {
    if (const auto space = spaces_.find(stack.space); space != spaces_.end())
        if (const auto found = space->second.codes.find({call.code, call.first_line});
            found != space->second.codes.end() && !found->second->function.empty()) {
            const PythonCode& code = *found->second;
            return {code.function, code.file, code.line(call.instruction).value_or(0)};
        }
    ++unknown_;
    return {"?", "?", 0};
}

}  // namespace memscope
