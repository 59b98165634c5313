#include "watch/growth/python_codes.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace memscope {
namespace {

// Limits, because a process can create any number of code objects of any size.
constexpr std::size_t kMostPerSpace = 8192;
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
// Bytes to read from one address space at most, because its process can cause any number of such reads.
constexpr std::size_t kMostCompleted = std::size_t{32} << 20U;

std::size_t bytes_of(const PythonCode& code) {
    return sizeof code + code.function.capacity() + code.file.capacity() + code.line_table.capacity();
}

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

// Returns one shared copy of equal code objects, because forked workers have the same code objects as their parent.
PythonCodes::CodePtr PythonCodes::shared(PythonCode code) {
    auto& alike = alike_[hash_of(code)];
    if (auto known = alike.lock(); known && same(*known, code)) return known;
    const std::size_t bytes = bytes_of(code);
    *bytes_ += bytes;
    const CodePtr fresh(new PythonCode(std::move(code)), [sum = bytes_, bytes](const PythonCode* gone) {
        *sum -= bytes;
        delete gone;
    });
    alike = fresh;
    if (alike_.size() > 2 * sweep_at_) {
        std::erase_if(alike_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = std::max(sweep_at_, alike_.size());
    }
    return fresh;
}

void PythonCodes::forget_oldest(Space& space) {
    const auto oldest = space.codes.find(space.order.front());
    space.bytes -= bytes_of(*oldest->second);
    space.codes.erase(oldest);
    space.order.pop_front();
}

// Reads the truncated parts while the process runs. If that is not possible, the truncated copy is used. False: a
// helper is still reading.
bool PythonCodes::complete(PythonCode& code, const ms_code& record, Space& space) const {
    const auto pid = static_cast<pid_t>(record.h.pid);
    const auto layout = complete_ && code.is_cut() && space.completed < kMostCompleted ? layout_of_(pid) : std::nullopt;
    if (!layout) return true;
    auto whole = complete_(pid, *layout, record.code, code);
    if (!whole) return false;
    if (*whole) code = std::move(**whole);
    space.completed += bytes_of(code);
    return true;
}

void PythonCodes::forget(SpaceId space) { spaces_.erase(space); }

// Forgets code objects of the address space with the most bytes first, so that a process with many code objects does
// not cost another process its names.
void PythonCodes::make_room() {
    while (*bytes_ > kMostBytes) {
        const auto largest = std::max_element(spaces_.begin(), spaces_.end(), [](const auto& a, const auto& b) {
            return a.second.bytes < b.second.bytes;
        });
        if (largest == spaces_.end() || largest->second.order.empty()) return;
        for (std::size_t left = (largest->second.order.size() + 1) / 2; left > 0; --left)
            forget_oldest(largest->second);
    }
}

bool PythonCodes::add(const ms_code& record, Cut cut) {
    PythonCode code = decode_python_code(record, static_cast<int>(record.version));
    Space& space = spaces_[SpaceId{record.h.target}];
    if (cut == Cut::wait && !complete(code, record, space)) return false;
    const Key key{record.code, record.first_line};
    CodePtr& place = space.codes[key];
    if (place)
        space.bytes -= bytes_of(*place);
    else
        space.order.push_back(key);
    place = shared(std::move(code));
    space.bytes += bytes_of(*place);
    while (space.order.size() > kMostPerSpace) forget_oldest(space);
    make_room();
    return true;
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
