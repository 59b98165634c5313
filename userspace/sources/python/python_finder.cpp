#include "sources/python/python_finder.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sources/elf/elf_file.h"
#include "sources/python/python_layout.h"

namespace memscope {
namespace {

// Every interpreter contains the name of its library folder, and with it the version.
std::optional<int> version_in_text(const ElfFile& file) {
    constexpr std::string_view kMarker = "python3.";
    constexpr std::size_t kMostDigits = 2;
    std::optional<int> version;
    const auto text = file.section(".rodata");
    if (!text) return version;
    file.for_each_text(*text, kMarker, kMarker.size() + kMostDigits + 1, [&](std::string_view found) {
        found.remove_prefix(kMarker.size());
        const auto digits = found.substr(0, found.find_first_not_of("0123456789"));
        if (digits.size() > kMostDigits) return true;
        if (const auto minor = parse_number(digits)) version = 300 + static_cast<int>(*minor);
        return !version;
    });
    return version;
}

}  // namespace

std::optional<PythonElf> find_python_in(const ElfFile& file) {
    constexpr std::string_view kNames[] = {"_PyRuntime", "Py_Version"};
    const auto symbols = file.find_symbols(kNames);
    PythonElf found;
    if (symbols[0])
        found.runtime = symbols[0]->value;
    else if (const auto section = file.section(".PyRuntime"))  // 3.13 and later, also in stripped files
        found.runtime = section->address;
    else
        return std::nullopt;
    found.load_address = file.load_address();
    if (symbols[1])
        found.version_address = symbols[1]->value;
    else
        found.version_text = version_in_text(file);
    return found;
}

std::optional<std::optional<PythonElf>> PythonElfCache::known(const FileIdentity& identity) {
    const auto found = by_identity_.find(identity);
    if (found == by_identity_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->found;
}

std::optional<PythonElf> PythonElfCache::find(const Fd& file, const FileIdentity& identity) {
    if (auto answer = known(identity)) return *answer;
    std::optional<PythonElf> found;
    if (const auto elf = ElfFile::open(file)) found = find_python_in(*elf);
    entries_.push_front({identity, found});
    by_identity_[identity] = entries_.begin();
    if (entries_.size() > kLimit) {
        by_identity_.erase(entries_.back().identity);
        entries_.pop_back();
    }
    return found;
}

namespace {

constexpr std::size_t kThreadsSearched = 64;
constexpr std::size_t kPthreadBytes = 2048;  // glibc's struct is a little longer and has the id in its first quarter
constexpr std::size_t kPiece = 256;          // read in pieces, because the struct may be at the end of a mapping

std::vector<std::uint64_t> pthreads_of(const ProcessMemory& memory, const ms_python& layout, std::uint64_t thread) {
    std::vector<std::uint64_t> pthreads;
    for (std::size_t i = 0; i < kThreadsSearched && thread != 0; ++i) {
        const auto pthread = memory.read<std::uint64_t>(thread + layout.thread_id);
        const auto next = memory.read<std::uint64_t>(thread + layout.thread_next);
        if (!pthread || !next) break;
        if (*pthread != 0) pthreads.push_back(*pthread);
        thread = *next;
    }
    return pthreads;
}

std::vector<std::byte> bytes_of_pthread(const ProcessMemory& memory, std::uint64_t pthread) {
    std::vector<std::byte> bytes;
    while (bytes.size() < kPthreadBytes) {
        const auto piece = memory.read(pthread + bytes.size(), kPiece);
        if (!piece) break;
        bytes.insert(bytes.end(), piece->begin(), piece->end());
    }
    return bytes;
}

}  // namespace

std::optional<pid_t> parse_own_pid(std::string_view status) {
    std::optional<pid_t> pid;
    for_each_line(status, [&](std::string_view line) {
        constexpr std::string_view kKey = "NSpid:";  // outermost first
        constexpr std::size_t kMostDigits = 9;
        if (!line.starts_with(kKey)) return;
        const std::string_view last = split(trimmed(line.substr(kKey.size())), '\t').back();
        const auto number = parse_number(last);
        if (number && last.size() <= kMostDigits) pid = static_cast<pid_t>(*number);
    });
    return pid;
}

Result<std::uint64_t> first_python_thread(const ProcessMemory& memory, const ms_python& layout) {
    auto interpreter = memory.read<std::uint64_t>(layout.runtime + layout.runtime_interpreters);
    if (!interpreter || *interpreter == 0) return interpreter;
    return memory.read<std::uint64_t>(*interpreter + layout.interpreter_threads);
}

std::optional<std::uint16_t> find_pthread_tid(const ProcessMemory& memory, const ms_python& layout,
                                              std::uint64_t first_thread, pid_t main_tid) {
    std::vector<std::vector<std::byte>> pthreads;
    for (const std::uint64_t pthread : pthreads_of(memory, layout, first_thread))
        pthreads.push_back(bytes_of_pthread(memory, pthread));
    const auto tid_at = [](const std::vector<std::byte>& bytes, std::size_t offset) {
        std::uint32_t tid = 0;
        if (offset + sizeof tid <= bytes.size()) std::memcpy(&tid, bytes.data() + offset, sizeof tid);
        return tid;
    };
    // Older C libraries keep the process id next to the thread id. It has the same value in all threads, so the first
    // offset is taken at which exactly one thread has the id of the main thread.
    for (std::size_t offset = sizeof(std::uint32_t); offset < kPthreadBytes; offset += sizeof(std::uint32_t)) {
        const auto matches = std::count_if(pthreads.begin(), pthreads.end(), [&](const auto& bytes) {
            return tid_at(bytes, offset) == static_cast<std::uint32_t>(main_tid);
        });
        if (matches == 1) return static_cast<std::uint16_t>(offset);
    }
    return std::nullopt;
}

namespace {

using Outcome = PythonSearch::Outcome;

constexpr std::size_t kCandidateLimit = 8;

bool has_name_of_python(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
    return name.starts_with("python") || name.starts_with("libpython");
}

PythonSearch ended(Outcome outcome, std::string why) {
    return {.outcome = outcome, .layout = {}, .why = std::move(why)};
}

// An address that is not mapped may be mapped soon. A denied permission stays denied.
PythonSearch ended(const Error& error) {
    if (error.code == std::errc::no_such_process) return ended(Outcome::none, error.message());
    return ended(error.code == std::errc::bad_address ? Outcome::starting : Outcome::unreadable, error.message());
}

// The link leads to the file itself, even if the file was deleted or lies in another root.
Result<Fd> executable_of(const SysRoot& root, pid_t pid) {
    const fs::path path = root.proc / std::to_string(pid) / "exe";
    const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return system_error(errno, "open " + path.native());
    return Fd(fd);
}

Result<ms_python> layout_at(const ProcessMemory& memory, const PythonElf& elf, std::uint64_t moved) {
    const auto table = memory.read(elf.runtime + moved, kDebugOffsetsBytes);
    if (table && has_debug_offsets(*table)) return python_layout(*table);
    if (!elf.version_address) {
        if (!elf.version_text) return plain_error("its CPython has an unknown version");
        return python_layout(*elf.version_text);
    }
    const auto version = memory.read<std::uint64_t>(*elf.version_address + moved);
    if (!version) return version.error();
    return python_layout(python_version(*version));
}

}  // namespace

std::vector<PythonFinder::Candidate> PythonFinder::candidates_of(pid_t pid) const {
    const fs::path process = root_.proc / std::to_string(pid);
    std::error_code none;
    const std::string executable = fs::read_symlink(process / "exe", none).string();
    const auto text = read_file(process / "maps", kMapsTextLimit);
    if (!text) return {};
    // A process can have thousands of mappings, so only the relevant lines are parsed.
    std::string lines;
    for_each_line(*text, [&](std::string_view line) {
        if (has_name_of_python(line) || (!executable.empty() && line.ends_with(executable))) lines.append(line) += '\n';
    });

    std::vector<Candidate> candidates;
    std::string_view before;
    const auto maps = parse_process_maps(lines);
    for (const MappedRange& range : maps.ranges) {
        if (range.inode == 0 || range.offset != 0 || range.path == before) continue;
        before = range.path;
        const bool runs = (range.deleted ? range.path + " (deleted)" : range.path) == executable;
        if (!runs && !has_name_of_python(range.path)) continue;
        candidates.push_back({.mapping = range, .is_executable = runs});
        if (candidates.size() == kCandidateLimit) break;
    }
    return candidates;
}

// The file is opened only after its handle has shown that it is a regular file, because the process can put a device at
// its path, and opening a device can have side effects.
std::optional<PythonElf> PythonFinder::read_elf(pid_t pid, const Candidate& candidate) {
    const auto found = candidate.is_executable
                           ? executable_of(root_, pid)
                           : find_mapped_file(root_, pid, candidate.mapping, InodeCheck::not_below_root_of_process);
    const auto identity = found ? identity_of(*found) : std::nullopt;
    if (!identity) return std::nullopt;
    if (const auto known = cache_.known(*identity)) return *known;
    const auto file = open_found(*found);
    return file ? cache_.find(*file, *identity) : std::nullopt;
}

PythonSearch PythonFinder::examine(pid_t pid, const PythonElf& elf, std::uint64_t lowest) const {
    const ProcessMemory memory = memory_of_(pid);
    const std::uint64_t moved = lowest - elf.load_address;
    auto layout = layout_at(memory, elf, moved);
    if (!layout) return ended(layout.error());
    layout->runtime = elf.runtime + moved;

    const auto thread = first_python_thread(memory, *layout);
    if (!thread) return ended(thread.error());
    if (*thread == 0) return ended(Outcome::starting, "CPython has no thread yet");
    if (const auto next = memory.read<std::uint64_t>(*thread + layout->thread_next); !next) return ended(next.error());

    constexpr int kFirstWithNativeIds = 311;
    if (layout->version < kFirstWithNativeIds) {
        const auto status = read_file(root_.proc / std::to_string(pid) / "status");
        const auto own_pid = status ? parse_own_pid(*status) : std::nullopt;
        const auto place = own_pid ? find_pthread_tid(memory, *layout, *thread, *own_pid) : std::nullopt;
        // Shortly after the start, a thread can be in the list before it has its id.
        if (!place)
            return ended(Outcome::starting,
                         "the thread id of the main thread was not found in the data of the C library");
        layout->pthread_tid = *place;
    }
    return {.outcome = Outcome::found, .layout = *layout, .why = {}};
}

PythonSearch PythonFinder::find(pid_t pid) {
    PythonSearch best = ended(Outcome::none, "it has no CPython");
    for (const Candidate& candidate : candidates_of(pid)) {
        const auto elf = read_elf(pid, candidate);
        if (!elf) {
            if (candidate.mapping.deleted && best.outcome == Outcome::none)
                best = ended(Outcome::unreadable, "the file of its CPython was replaced since it was started");
            continue;
        }
        PythonSearch search = examine(pid, *elf, candidate.mapping.start);
        if (search.outcome == Outcome::found) return search;
        // The mapped file of another Python must not hide the result for the Python that the process runs.
        if (best.outcome == Outcome::none || search.outcome == Outcome::starting) best = std::move(search);
    }
    return best;
}

}  // namespace memscope
