#include "sources/elf/native_symbols.h"

#include <algorithm>
#include <fcntl.h>
#include <limits>

#include "base/result.h"
#include "sources/elf/demangle.h"

namespace memscope {
namespace {

Fd copy_of(const Fd& fd) { return fd ? Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)) : Fd(); }

}  // namespace

Module::Module(ModuleWanted file, std::shared_ptr<OpenFiles> open_files)
    : name_(file.path),
      identity_(file.identity),
      open_files_(std::move(open_files)),
      pid_(file.pid),
      file_(std::move(file)) {
    if (file_.place.handle || file_.place.root) ++*open_files_;
}

Module::~Module() { close_files(); }

void Module::close_files() {
    if (file_.place.handle || file_.place.root) --*open_files_;
    file_.place.handle = Fd();
    file_.place.root = Fd();
}

ModuleWanted Module::wanted(pid_t pid) const {
    return {.path = name_,
            .pid = pid,
            .place = {.handle = copy_of(file_.place.handle),
                      .identity = file_.place.identity,
                      .root = copy_of(file_.place.root),
                      .root_shown_as = file_.place.root_shown_as,
                      .first_page = file_.place.first_page},
            .dev_major = file_.dev_major,
            .dev_minor = file_.dev_minor,
            .inode = file_.inode,
            .identity = identity_,
            .loaded = loaded_};
}

// Symbols that another module of the same file has loaded. As long as a handle is open, inode and device identify the
// file.
std::shared_ptr<const ModuleSymbols> Module::find_cached(SymbolCache& cache) {
    if (loaded_) return cache.find(*loaded_);
    if (!file_.place.handle) return nullptr;
    const auto identity = identity_of(file_.place.handle);
    if (!identity || identity->inode != file_.inode || !file_.has_device_of(*identity)) return nullptr;
    auto symbols = cache.find(*identity);
    if (symbols) loaded_ = identity;
    return symbols;
}

std::shared_ptr<const ModuleSymbols> Module::symbols(NativeReads& reads, SymbolCache& cache, NativeReads::Wait wait) {
    if (failed_ || !open_files_) return nullptr;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (wait != NativeReads::Wait::no) {
        lock.lock();
    } else if (!lock.try_lock()) {
        is_loading_ = true;  // another thread is loading the symbols
        return nullptr;
    }
    is_loading_ = false;
    if (auto symbols = find_cached(cache)) {
        close_files();
        requested_for_ = 0;
        return symbols;
    }
    // A request that does not wait is repeated unchanged until it is answered, because a changed request is another job
    // of the helper. Meanwhile the file may have been seen in another process.
    const bool repeats = wait == NativeReads::Wait::no;
    const pid_t pid = repeats && requested_for_ != 0 ? requested_for_ : pid_.load();
    ModuleWanted request = wanted(pid);
    if (!request.place.handle && file_.place.handle) return nullptr;  // no file descriptor is free for a copy
    if (!request.place.root && file_.place.root) return nullptr;
    auto loaded = reads.load(std::move(request), wait);
    is_loading_ = !loaded;
    if (repeats) requested_for_ = loaded ? 0 : pid;
    if (!loaded || (!*loaded && is_retryable(loaded->error()))) return nullptr;
    // Without a handle the file is looked up below the root of a process: the next call looks in the other process.
    if (!*loaded && !file_.place.handle && pid != pid_) return nullptr;
    close_files();
    // A load that failed because of the file is not retried, because the pid may belong to another process by then.
    failed_ = !*loaded;
    if (failed_) return nullptr;
    loaded_ = (*loaded)->identity;
    return cache.keep((*loaded)->identity, std::move((*loaded)->symbols));
}

namespace {

bool same_file(const MappedRange& a, const MappedRange& b) {
    return a.inode == b.inode && a.dev_major == b.dev_major && a.dev_minor == b.dev_minor;
}

}  // namespace

ProcessCode::ProcessCode(ProcessMaps maps) {
    MappedRange beginning;  // first range of the file whose start was mapped last
    for (MappedRange& range : maps.ranges) {
        if (range.inode != 0 && range.offset == 0 && range.readable) {
            beginning = range;
            beginning.path.clear();
        }
        if (range.executable) {
            const std::uint64_t headers = same_file(beginning, range) ? beginning.start : 0;
            code_.push_back({.mapped = std::move(range), .headers = headers, .module = {}});
        } else if (!others_.empty() && others_.back().end == range.start) {
            others_.back().end = range.end;
        } else {
            others_.push_back({range.start, range.end});
        }
    }
}

ProcessCode::Range* ProcessCode::at(std::uint64_t address) {
    const auto behind = std::upper_bound(code_.begin(), code_.end(), address,
                                         [](std::uint64_t a, const Range& range) { return a < range.mapped.start; });
    return behind != code_.begin() && address < behind[-1].mapped.end ? &behind[-1] : nullptr;
}

bool ProcessCode::is_mapped(std::uint64_t address) const {
    const auto holds = [&](const auto& ranges, auto start_of, auto end_of) {
        const auto behind = std::upper_bound(ranges.begin(), ranges.end(), address,
                                             [&](std::uint64_t a, const auto& range) { return a < start_of(range); });
        return behind != ranges.begin() && address < end_of(behind[-1]);
    };
    return holds(
               code_, [](const Range& r) { return r.mapped.start; }, [](const Range& r) { return r.mapped.end; }) ||
           holds(others_, [](const Stretch& s) { return s.start; }, [](const Stretch& s) { return s.end; });
}

namespace {

// Stacks that were walked without frame pointers contain values that are not addresses. Each of them would cause a read
// of the address space. So reads have a pause between them: after kReadsWithoutPause reads, and in a large address
// space from the first read on.
constexpr unsigned kReadsWithoutPause = 8;
constexpr Seconds kPause{0.1};
constexpr Seconds kPauseOfLarge{1};
constexpr std::size_t kLargeSpace = 5000;  // ranges

bool is_too_early(const ProcessCode& code, unsigned rereads, Seconds since_last) {
    if (code.size() >= kLargeSpace) return since_last < kPauseOfLarge;
    return rereads >= kReadsWithoutPause && since_last < kPause;
}

// A return address is that of the instruction after the call. If the call is the last instruction of a function, that
// is already the next function or mapping. So all frames except the innermost are looked up one byte before.
std::uint64_t inside(std::uint64_t address, std::size_t frame) {
    return frame > 0 && address > 0 ? address - 1 : address;
}

std::string bracketed(const std::string& path) {
    if (path.empty()) return "[anon]";
    return path.starts_with('[') ? path : "[" + path + "]";
}

}  // namespace

NativeSymbols::NativeSymbols(std::shared_ptr<NativeReads> reads, Limits limits)
    : reads_(std::move(reads)), limits_(limits), cache_(limits.symbols) {}

std::optional<std::vector<NativeLocation>> NativeSymbols::locate_when_read(pid_t pid,
                                                                           std::span<const std::uint64_t> addresses,
                                                                           Seconds recorded, Seconds now,
                                                                           Callers callers) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t read_before = maps_read_;
    const auto [place, is_new] = processes_.try_emplace(pid);
    Process& process = place->second;
    const std::size_t sure = callers == Callers::sure ? addresses.size() : std::min<std::size_t>(addresses.size(), 1);
    if (!read_if_old(pid, process, is_new, now) || !read_again_for(pid, process, addresses.first(sure), recorded, now))
        return std::nullopt;
    if (maps_read_ != read_before) make_room(process, now);
    return located(pid, process, addresses, Unknown::wait);
}

std::vector<NativeLocation> NativeSymbols::locate_as_known(pid_t pid, std::span<const std::uint64_t> addresses) {
    const std::lock_guard lock(mutex_);
    Process nothing;
    const auto known = processes_.find(pid);
    return *located(pid, known == processes_.end() ? nothing : known->second, addresses, Unknown::leave_out);
}

std::optional<std::vector<NativeLocation>> NativeSymbols::located(pid_t pid, Process& process,
                                                                  std::span<const std::uint64_t> addresses,
                                                                  Unknown unknown) {
    std::vector<NativeLocation> locations;
    locations.reserve(addresses.size());
    bool must_wait = false;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        NativeLocation location{.module = {}, .offset = addresses[i], .is_return = i > 0};
        if (ProcessCode::Range* range = process.code.at(inside(addresses[i], i))) {
            if (!range->module) {
                const FoundModule found = module_of(pid, *range);
                // Continues with the other frames, so that their files are requested at the same time.
                must_wait = must_wait || (!found.module && unknown == Unknown::wait && !found.not_read);
                range->module = found.module;
            }
            location.module = range->module ? range->module : unfound_module(pid, *range);
            location.offset = addresses[i] - range->mapped.start + range->mapped.offset;
        }
        locations.push_back(std::move(location));
    }
    if (must_wait) return std::nullopt;
    return locations;
}

void NativeSymbols::forget(pid_t pid) {
    const std::lock_guard lock(mutex_);
    processes_.erase(pid);
}

bool NativeSymbols::read_if_old(pid_t pid, Process& process, bool is_new, Seconds now) {
    if (process.reading != 0) return read_code(pid, process);
    const bool is_recent = now - process.read_at < limits_.maps_age && now >= process.read_at;
    if (!is_new && !process.read_again && is_recent) return true;
    process.read_at = now;
    process.rereads = 0;
    return read_code(pid, process);
}

// Keeps the known address space if it cannot be read any more, because the stacks of a process arrive after it has
// exited. After a failure that says nothing about the process, the next call reads again.
bool NativeSymbols::read_code(pid_t pid, Process& process) {
    if (process.reading == 0) process.reading = ++readings_;
    auto maps = reads_->maps(pid, process.reading);
    if (!maps) return false;
    process.reading = 0;
    process.read_again = !*maps && is_retryable(maps->error());
    if (process.read_again) return false;
    ++maps_read_;
    if (!*maps || (*maps)->ranges.empty()) return true;
    if ((*maps)->truncated) ++maps_truncated_;
    process.code = ProcessCode(std::move(**maps));
    return true;
}

bool NativeSymbols::read_again_for(pid_t pid, Process& process, std::span<const std::uint64_t> addresses,
                                   Seconds recorded, Seconds now) {
    std::size_t frame = 0;
    const bool all_known = std::all_of(addresses.begin(), addresses.end(), [&](std::uint64_t address) {
        return process.code.is_mapped(inside(address, frame++));
    });
    if (all_known || process.read_at >= recorded) return true;
    if (is_too_early(process.code, process.rereads, now - process.read_at)) return false;
    process.read_at = now;
    ++process.rereads;
    return read_code(pid, process);
}

// Checks all processes only if there may be too many ranges, or if the last check is old, because this is called for
// each of many short-lived processes.
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
        if (ranges_ <= limits_.cached_ranges / 4 * 3) return;  // leaves room for the next processes
        ranges_ -= each->second.code.size() + 1;
        processes_.erase(each);
    }
}

NativeSymbols::FoundModule NativeSymbols::module_of(pid_t pid, const ProcessCode::Range& range) {
    const MappedRange& mapped = range.mapped;
    if (!mapped.path.starts_with('/')) return {std::make_shared<Module>(bracketed(mapped.path))};
    // The file was deleted or replaced. Users still know the code by this path.
    if (mapped.deleted || mapped.inode == 0) return {std::make_shared<Module>(mapped.path)};
    return file_module(pid, range);
}

NativeSymbols::FoundModule NativeSymbols::file_module(pid_t pid, const ProcessCode::Range& range) {
    const MappedRange& mapped = range.mapped;
    auto place = reads_->find(pid, mapped, range.headers);
    if (!place) return {};
    if (!*place && is_retryable(place->error())) return {.module = {}, .not_read = true};
    if (!*place || (!(*place)->handle && !(*place)->root)) return {std::make_shared<Module>(mapped.path)};
    ModuleWanted file{.path = mapped.path,
                      .pid = pid,
                      .place = std::move(**place),
                      .dev_major = mapped.dev_major,
                      .dev_minor = mapped.dev_minor,
                      .inode = mapped.inode,
                      .identity = {},
                      .loaded = {}};
    file.identity = file.place.identity;
    if (file.place.handle) return {shared_module(std::move(file))};
    if (*open_files_ >= limits_.open_files) file.place.root = Fd();
    return {std::make_shared<Module>(std::move(file), open_files_)};
}

// The file was not found in time, for example because the process has ended. It is found again by its path, inode and
// device when its symbols are loaded.
std::shared_ptr<Module> NativeSymbols::unfound_module(pid_t pid, ProcessCode::Range& range) {
    if (!range.unfound)
        range.unfound = std::make_shared<Module>(ModuleWanted{.path = range.mapped.path,
                                                              .pid = pid,
                                                              .place = {},
                                                              .dev_major = range.mapped.dev_major,
                                                              .dev_minor = range.mapped.dev_minor,
                                                              .inode = range.mapped.inode,
                                                              .identity = {},
                                                              .loaded = {}},
                                                 open_files_);
    return range.unfound;
}

std::shared_ptr<Module> NativeSymbols::shared_module(ModuleWanted file) {
    sweep_modules();
    std::weak_ptr<Module>& kept = modules_[{file.dev_major, file.dev_minor, file.inode, file.path}];
    auto module = kept.lock();
    if (module && module->identity() == file.identity) {
        module->seen_in(file.pid);
        return module;
    }
    if (*open_files_ >= limits_.open_files) file.place.handle = Fd();
    module = std::make_shared<Module>(std::move(file), open_files_);
    kept = module;
    return module;
}

void NativeSymbols::sweep_modules() {
    if (modules_.size() < modules_to_sweep_) return;
    std::erase_if(modules_, [](const auto& entry) { return entry.second.expired(); });
    modules_to_sweep_ = std::max<std::size_t>(1024, 2 * modules_.size());
}

NativeFrame NativeSymbols::name(const NativeLocation& location, NativeReads::Wait wait) {
    NativeFrame frame{.symbol = {}, .module = {}, .offset = location.offset};
    if (!location.module) return frame;
    frame.module = location.module->name();
    const bool had_failed = location.module->failed();
    const auto symbols = location.module->symbols(*reads_, cache_, wait);
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
