#include "watch/growth/stack_intake.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <utility>

#include "watch/clock.h"
#include <memscope/shared/stacks.h>

namespace memscope {
namespace {

constexpr std::size_t kMostDeferred = 4096;  // records, of about 2 KiB each

// Cuts a stack at the first address that is in no file of the program, because in code without frame pointers the
// kernel follows arbitrary values instead.
void cut_at_unmapped(std::vector<NativeLocation>& frames) {
    const auto nowhere = [](const NativeLocation& frame) { return !frame.module; };
    frames.erase(std::find_if(frames.begin(), frames.end(), nowhere), frames.end());
}

FramePtr left_out(const RawStack& stack) {
    return std::make_shared<const PythonFrame>(
        PythonFrame{.function = fmt::format("… {} frames left out …", stack.python_left_out),
                    .file = std::string(kLeftOutFile),
                    .line = 0});
}

}  // namespace

StackIntake::StackIntake(std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks, ResidentRecorder& resident,
                         GrowthLedger& ledger, bool python)
    : stacks_(stacks),
      resident_(resident),
      ledger_(ledger),
      symbols_(std::make_shared<HelperReads>(reads)),
      python_(reads, stacks, python),
      codes_([&stacks](pid_t pid) { return stacks.python_of(pid); },
             [reads](pid_t pid, const ms_python& layout, std::uint64_t address, const PythonCode& part) {
                 return reads->quick.ask(CodeJob{.pid = pid, .layout = layout, .address = address, .code = part});
             }) {}

template <class Record>
void StackIntake::take_or_defer(pid_t pid, const Record& record) {
    if (!deferred_.contains(pid) && name(record, Names::when_read)) return;
    deferred_[pid].emplace_back(record);
    expect_names(record);
    if (++deferred_count_ > kMostDeferred) make_room();
}

template void StackIntake::take_or_defer(pid_t pid, const ms_code& record);
template void StackIntake::take_or_defer(pid_t pid, const RawStack& record);

// Too many records wait. Makes room for a quarter of them, so that the next record does not need room again.
void StackIntake::make_room() {
    std::vector<std::pair<std::size_t, pid_t>> by_size;
    by_size.reserve(deferred_.size());
    for (const auto& [pid, records] : deferred_) by_size.emplace_back(records.size(), pid);
    std::ranges::sort(by_size, std::greater{});
    for (const auto& [size, pid] : by_size) {
        if (deferred_count_ <= kMostDeferred / 4 * 3) return;
        make_room(pid);
    }
}

// Names the stacks of the process if its data is known. Forgets its other stacks: the BPF programs send a forgotten
// stack again when it is used again, so a process that still runs does not lose their names for good. A code object is
// not sent again, so truncated code objects still wait. If these are most of the records, the truncated copies are
// used, because otherwise little room would be made.
void StackIntake::make_room(pid_t pid) {
    std::deque<Deferred>& records = deferred_.at(pid);
    const std::size_t before = records.size();
    bool codes_known = true;
    std::uint32_t forgotten = 0;
    deferred_count_ -= std::erase_if(records, [&](const Deferred& each) {
        const auto* stack = std::get_if<RawStack>(&each);
        if (!stack) {
            const bool known = name(std::get<ms_code>(each), Names::when_read);
            codes_known = codes_known && known;
            return known;
        }
        if ((codes_known || stack->python.empty()) && name_if_known(*stack)) return true;
        forget(*stack);
        ++forgotten;
        return true;
    });
    if (forgotten > 0) stacks_.allow_stacks(pid, forgotten);
    if (records.size() > before / 2) return name_ended(pid);
    if (records.empty()) deferred_.erase(pid);
}

void StackIntake::take_deferred() {
    for (auto each = deferred_.begin(); each != deferred_.end();) {
        std::deque<Deferred>& records = each->second;
        while (!records.empty() && name(records.front(), Names::when_read)) {
            records.pop_front();
            --deferred_count_;
        }
        each = records.empty() ? deferred_.erase(each) : std::next(each);
    }
}

void StackIntake::name_ended(pid_t pid) {
    const auto found = deferred_.extract(pid);
    if (!found) return;
    deferred_count_ -= found.mapped().size();
    for (const Deferred& each : found.mapped()) (void)name(each, Names::as_known);
}

void StackIntake::name_before_exec(pid_t pid) {
    const auto found = deferred_.find(pid);
    if (found == deferred_.end()) return;
    const auto now = stacks_.read_space(pid);
    if (!now) return name_ended(pid);
    std::deque<Deferred>& records = found->second;
    const auto last = std::find_if(records.rbegin(), records.rend(), [&](const Deferred& each) {
        const auto* stack = std::get_if<RawStack>(&each);
        return stack && stack->space != now->space;
    });
    for (auto older = records.rend() - last; older > 0; --older) {
        (void)name(records.front(), Names::as_known);
        records.pop_front();
        --deferred_count_;
    }
    if (records.empty()) deferred_.erase(found);
}

bool StackIntake::name(const Deferred& record, Names names) {
    return std::visit([this, names](const auto& each) { return name(each, names); }, record);
}

// A code object can arrive after its process has executed another program. Its truncated parts must not be read from
// the memory of the new program.
bool StackIntake::name(const ms_code& code, Names names) {
    const auto now = stacks_.read_space(static_cast<pid_t>(code.h.pid));
    const bool can_read = names == Names::when_read && now && now->space == SpaceId{code.h.target};
    return codes_.add(code, can_read ? PythonCodes::Cut::wait : PythonCodes::Cut::accept);
}

bool StackIntake::name(const RawStack& stack, Names names) {
    auto native = located(stack, names);
    if (!native) return false;
    // If the mappings are not known, no frame has a module. This happens if the process ended or executed another
    // program before it was read.
    const bool is_unread = !native->empty() && !native->front().module;
    if (is_unread && stack.python.empty()) {
        // No loss if the process or its program had ended before a helper could read it, because that happens with
        // every process that lives only for milliseconds.
        if (names == Names::as_known) ++unread_stacks_;
        const std::lock_guard lock(ledger_.mutex);
        ledger_.sites.expect_names(stack);  // may be the first that is known of the stack
        ledger_.sites.lose_names(stack.id);
        return true;
    }
    learn(stack, std::move(*native));
    return true;
}

// False if the mappings of its process are not known, or if they may be of another program. A stack with an address
// outside of the mappings is named up to this address: in code without frame pointers there may be no better names, so
// that the stack would be forgotten and sent again each time.
bool StackIntake::name_if_known(const RawStack& stack) {
    const pid_t pid = stack.process.pid;
    const auto now = stacks_.read_space(pid);
    if (!now || now->space != stack.space || replaced_.contains(pid)) return false;
    auto native = symbols_.locate_as_known(pid, stack.native);
    if (!native.empty() && !native.front().module) return false;
    learn(stack, std::move(native));
    return true;
}

void StackIntake::learn(const RawStack& stack, std::vector<NativeLocation> native) {
    CallSite site{.python = {}, .native = std::move(native)};
    site.python.reserve(stack.python.size());
    for (std::size_t i = 0; i < stack.python.size(); ++i) {
        if (stack.python_left_out > 0 && i == MS_PYTHON_INNERMOST) site.python.push_back(left_out(stack));
        site.python.push_back(std::make_shared<const PythonFrame>(codes_.frame(stack, stack.python[i])));
    }
    cut_at_unmapped(site.native);
    const std::lock_guard lock(ledger_.mutex);
    if (ledger_.sites.learn(stack, std::move(site))) return;
    // There was no room for the names. The BPF programs send a forgotten stack again when it is used again.
    stacks_.forget_stack(stack.id);
    resident_.move_stacks({{stack.id, kNoStack}}, read_clock().boot_ns);
    ledger_.sites.give_up(stack.id);
}

// The samples of the stack stay, so they have its names as soon as it is sent again.
void StackIntake::forget(const RawStack& stack) {
    ++unread_stacks_;
    stacks_.forget_stack(stack.id);
    const std::lock_guard lock(ledger_.mutex);
    ledger_.sites.give_up(stack.id);
}

void StackIntake::expect_names(const RawStack& stack) {
    const std::lock_guard lock(ledger_.mutex);
    ledger_.sites.expect_names(stack);
}

// A stack can arrive after its process has executed another program. It must not be located with the maps of the new
// program.
std::optional<std::vector<NativeLocation>> StackIntake::located(const RawStack& stack, Names names) {
    const pid_t pid = stack.process.pid;
    const auto now = stacks_.read_space(pid);
    if (names == Names::as_known || !now || now->space != stack.space)
        return symbols_.locate_as_known(pid, stack.native);
    if (replaced_.erase(pid) != 0) symbols_.forget(pid);
    // Libraries of Python are often built without frame pointers.
    using Callers = NativeSymbols::Callers;
    return symbols_.locate_when_read(pid, stack.native, stack.recorded, boot_time(),
                                     stack.python.empty() ? Callers::sure : Callers::may_be_arbitrary);
}

void StackIntake::read(const ProcessId& process) {
    if (!stacks_.python_of(process.pid)) python_.check(process);
    if (replaced_.erase(process.pid) != 0) {
        name_before_exec(process.pid);  // while the maps of the previous program are known
        symbols_.forget(process.pid);
    }
    const Seconds now = boot_time();
    (void)symbols_.locate_when_read(process.pid, {}, now, now);
}

std::uint64_t StackIntake::unnamed() const {
    const NativeSymbols::Counts native = symbols_.counts();
    return codes_.unknown() + unread_stacks_ + native.maps_truncated + native.failed;
}

void StackIntake::forget(pid_t pid) {
    python_.forget(pid);
    symbols_.forget(pid);
    replaced_.erase(pid);
}

}  // namespace memscope
