#include "sources/native_symbols.h"

#include <algorithm>
#include <limits>

#include "sources/demangle.h"

namespace memscope {
namespace {

// Stacks that were walked without frame pointers hold numbers that are no addresses: a few of them must not have a
// large address space read over and over.
constexpr unsigned kRereads = 8;
constexpr std::size_t kLargeSpace = 5000;  // ranges
unsigned rereads_of(const ProcessCode& code) { return code.size() < kLargeSpace ? kRereads : 1; }

// A return address is that of the instruction after the call, which may lie in the next function or mapping where the
// call is the last thing a function does. So all but the innermost frame are looked up one byte before.
std::uint64_t inside(std::uint64_t address, std::size_t frame) {
    return frame > 0 && address > 0 ? address - 1 : address;
}

std::string bracketed(const std::string& path) {
    if (path.empty()) return "[anon]";
    return path.starts_with('[') ? path : "[" + path + "]";
}

bool may_be_there(const Error& error) { return error.code.value() == EAGAIN || error.code.value() == EINVAL; }

}  // namespace

NativeSymbols::NativeSymbols(SysRoot root, Limits limits)
    : root_(std::move(root)), limits_(limits), cache_(limits.symbols) {}

std::vector<NativeLocation> NativeSymbols::locate(pid_t pid, std::span<const std::uint64_t> addresses, Seconds now) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t read_before = maps_read_;
    Process& process = known(pid, now);
    read_again_for(pid, process, addresses);
    if (maps_read_ != read_before) make_room(process, now);

    return located(pid, process, addresses);
}

std::vector<NativeLocation> NativeSymbols::locate_as_known(pid_t pid, std::span<const std::uint64_t> addresses) {
    const std::lock_guard lock(mutex_);
    Process nothing;
    const auto known = processes_.find(pid);
    return located(pid, known == processes_.end() ? nothing : known->second, addresses);
}

std::vector<NativeLocation> NativeSymbols::located(pid_t pid, Process& process,
                                                   std::span<const std::uint64_t> addresses) {
    std::vector<NativeLocation> locations;
    locations.reserve(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        NativeLocation location{.module = {}, .offset = addresses[i], .is_return = i > 0};
        if (ProcessCode::Range* range = process.code.at(inside(addresses[i], i))) {
            if (!range->module) range->module = module_of(pid, *range);
            location.module = range->module;
            location.offset = addresses[i] - range->mapped.start + range->mapped.offset;
        }
        locations.push_back(std::move(location));
    }
    return locations;
}

void NativeSymbols::forget(pid_t pid) {
    const std::lock_guard lock(mutex_);
    processes_.erase(pid);
}

NativeSymbols::Process& NativeSymbols::known(pid_t pid, Seconds now) {
    const auto [place, is_new] = processes_.try_emplace(pid);
    Process& process = place->second;
    if (is_new || now - process.read_at >= limits_.maps_age || now < process.read_at) {
        process.read_at = now;
        process.rereads = 0;
        read_code(pid, process);
    }
    return process;
}

// What was known stays known when there is nothing to read any more: the stacks of a process arrive after it has died.
void NativeSymbols::read_code(pid_t pid, Process& process) {
    ++maps_read_;
    auto maps = read_process_maps(root_, pid);
    if (!maps || maps->ranges.empty()) return;
    if (maps->truncated) ++maps_truncated_;
    process.code = ProcessCode(std::move(*maps));
}

void NativeSymbols::read_again_for(pid_t pid, Process& process, std::span<const std::uint64_t> addresses) {
    std::size_t frame = 0;
    const bool all_known = std::all_of(addresses.begin(), addresses.end(), [&](std::uint64_t address) {
        return process.code.is_mapped(inside(address, frame++));
    });
    if (all_known || process.rereads >= rereads_of(process.code)) return;
    ++process.rereads;
    read_code(pid, process);
}

// Looks at all of them only when there may be too many: in a storm of short processes it is called for each.
void NativeSymbols::make_room(const Process& except, Seconds now) {
    ranges_ += except.code.size() + 1;
    if (ranges_ <= limits_.cached_ranges && now < next_sweep_) return;
    next_sweep_ = now + limits_.maps_kept;
    std::erase_if(processes_, [&](const auto& entry) {
        return &entry.second != &except && now - entry.second.read_at > limits_.maps_kept;
    });
    ranges_ = 0;
    std::vector<std::map<pid_t, Process>::iterator> oldest_first;
    for (auto each = processes_.begin(); each != processes_.end(); ++each) {
        ranges_ += each->second.code.size() + 1;
        if (&each->second != &except) oldest_first.push_back(each);
    }
    if (ranges_ <= limits_.cached_ranges) return;
    std::ranges::sort(oldest_first, {}, [](const auto& each) { return each->second.read_at; });
    for (const auto& each : oldest_first) {
        if (ranges_ <= limits_.cached_ranges / 4 * 3) return;  // so that the next ones have room
        ranges_ -= each->second.code.size() + 1;
        processes_.erase(each);
    }
}

std::shared_ptr<Module> NativeSymbols::module_of(pid_t pid, const ProcessCode::Range& range) {
    const MappedRange& mapped = range.mapped;
    if (!mapped.path.starts_with('/')) return std::make_shared<Module>(bracketed(mapped.path));
    // A path that leads to another file now, or to none, is still what people know the code by.
    if (mapped.deleted || mapped.inode == 0) return std::make_shared<Module>(mapped.path);
    return file_module(pid, range);
}

std::shared_ptr<Module> NativeSymbols::file_module(pid_t pid, const ProcessCode::Range& range) {
    const MappedRange& mapped = range.mapped;
    const auto file_with = [&](Fd handle, std::optional<FileIdentity> identity,
                               std::shared_ptr<const ProcessRoot> root) {
        return ModuleFile{.handle = std::move(handle),
                          .root = std::move(root),
                          .identity = identity,
                          .dev_major = mapped.dev_major,
                          .dev_minor = mapped.dev_minor,
                          .inode = mapped.inode,
                          .first_page = {}};
    };
    std::shared_ptr<const ProcessRoot> undecided;  // a root below which only waiting would tell
    // What a process has mapped before it called chroot lies below our root, if anywhere that we can see.
    for (const std::string& process : {std::to_string(pid), std::string("self")}) {
        auto root = root_of(root_, process);
        if (!root) continue;
        auto found = find_below(*root, mapped.path, Lookup::in_memory_only);
        if (!found && may_be_there(found.error()) && !undecided)
            undecided = std::make_shared<const ProcessRoot>(std::move(*root));
        const auto identity = found ? identity_of(*found) : std::nullopt;
        if (!identity || identity->inode != mapped.inode) continue;
        ModuleFile file = file_with(std::move(*found), identity, {});
        if (!file.has_device_of(*identity)) {
            if (range.headers != 0) file.first_page = read_page(pid, range.headers);
            if (file.first_page.empty()) continue;
        }
        return shared_module(pid, mapped, std::move(file));
    }
    if (!undecided) return std::make_shared<Module>(mapped.path);
    ModuleFile file = file_with({}, {}, *open_files_ < limits_.open_files ? undecided : nullptr);
    if (range.headers != 0) file.first_page = read_page(pid, range.headers);
    return std::make_shared<Module>(mapped.path, std::move(file), pid, open_files_);
}

std::shared_ptr<Module> NativeSymbols::shared_module(pid_t pid, const MappedRange& range, ModuleFile file) {
    sweep_modules();
    std::weak_ptr<Module>& kept = modules_[{range.dev_major, range.dev_minor, range.inode, range.path}];
    auto module = kept.lock();
    if (module && module->identity() == file.identity) {
        module->seen_in(pid);
        return module;
    }
    if (*open_files_ >= limits_.open_files) file.handle = Fd();
    module = std::make_shared<Module>(range.path, std::move(file), pid, open_files_);
    kept = module;
    return module;
}

void NativeSymbols::sweep_modules() {
    if (modules_.size() < modules_to_sweep_) return;
    std::erase_if(modules_, [](const auto& entry) { return entry.second.expired(); });
    modules_to_sweep_ = std::max<std::size_t>(1024, 2 * modules_.size());
}

NativeFrame NativeSymbols::name(const NativeLocation& location) {
    NativeFrame frame{.symbol = {}, .module = {}, .offset = location.offset};
    if (!location.module) return frame;
    frame.module = location.module->name();
    const bool had_failed = location.module->failed();
    const auto symbols = location.module->symbols(root_, cache_);
    if (!had_failed && location.module->failed()) ++failed_;
    if (!symbols) return frame;
    const std::uint64_t before = location.is_return ? 1 : 0;
    const auto address = address_in(symbols->segments, location.offset - before, true);
    if (!address) return frame;
    frame.offset = *address + before;
    if (const auto name = symbols->table.find(*address)) frame.symbol = demangled(*name);
    return frame;
}

NativeSymbols::Counts NativeSymbols::counts() const {
    const std::lock_guard lock(mutex_);
    return {.maps_read = maps_read_,
            .maps_truncated = maps_truncated_,
            .failed = failed_,
            .open_files = *open_files_,
            .symbol_files = cache_.files(),
            .symbol_bytes = cache_.bytes()};
}

}  // namespace memscope
