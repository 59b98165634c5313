#include "watch/library_follower.h"

#include <algorithm>

#include "sources/mapped_library.h"

namespace memscope {
namespace {

constexpr std::size_t kMostLibraries = 16;     // a driver has some 110 files open
constexpr std::size_t kMostKnown = 64;         // with those that cannot be followed
constexpr std::size_t kMostLooksPerTurn = 50;  // a process with a driver has thousands of mappings: a millisecond
constexpr std::uint64_t kLingerNs = 60'000'000'000;

}  // namespace

LibraryFollower::~LibraryFollower() {
    for (auto& [key, library] : libraries_) detacher_.let_go(std::move(library.probes));
}

void LibraryFollower::look_at(const ProcessId& process, bool just_mapped) {
    if (!on_) return;
    ToLookAt& look = to_look_at_[process];
    look.just_mapped = look.just_mapped || just_mapped;
    look.number = 0;  // what is being read may be from before
    look.mappings.reset();
}

void LibraryFollower::begin(const TrackedProcess& process) {
    if (!on_) return;
    const ProcessId& id = process.task.id;
    if (!process.born_here) return look_at(id, false);
    // One that executed another program since will say so when it maps one.
    if (libraries_.empty() || process.exec_count > 0) return;
    bool inherits = false;
    for (auto& [key, library] : libraries_)
        if (const auto parent = library.users.find(process.task.parent); parent != library.users.end()) {
            const bool from_start = parent->second && id.start_ns >= library.followed_ns;
            inherits = library.users.try_emplace(id.pid, from_start).second || inherits;
        }
    tell_if_from_start(id);
    if (!inherits) look_at(id, false);  // its parent may have ended, or have mapped one just now
}

void LibraryFollower::executed(const ProcessId& process) {
    for (auto& [key, library] : libraries_) library.users.erase(process.pid);
}

Status LibraryFollower::follow(Session& session, const Result<LibraryAnswer>& file, Library& library) {
    if (!file) return file.error();
    std::size_t followed = 0;
    for (const auto& [key, known] : libraries_) followed += known.probes.empty() ? 0 : 1;
    if (followed >= kMostLibraries) return plain_error("there are too many " + kind_.name + " to follow them all");
    auto probes = kind_.follow(session, *file);
    if (!probes) return probes.error();
    library.probes = std::move(*probes);
    return Done{};
}

// Whoever maps a file just now has not used it yet: a program initializes for longer than it takes to follow it. False:
// a helper still reads its maps or the file.
bool LibraryFollower::look_at_maps(Session& session, const ProcessId& process, ToLookAt& look, std::uint64_t now_ns) {
    if (!look.mappings) {
        if (look.number == 0) look.number = ++numbers_;
        const auto maps = reads_->quick.ask(MapsJob{.pid = process.pid, .number = look.number});
        if (!maps) return false;
        if (!*maps) return true;  // it has ended, or it blocks its readers
        look.mappings = mappings_named((*maps)->text, kind_.file_name);
    }
    for (const MappedRange& mapping : *look.mappings) {
        const FileKey key{mapping.dev_major, mapping.dev_minor, mapping.inode};
        const bool known = libraries_.contains(key);
        if (!known && libraries_.size() >= kMostKnown) {
            ++refused_;
            continue;
        }
        std::optional<Result<LibraryAnswer>> file;
        if (!known) {
            // To attach probes the kernel takes the mmap_lock of every process that has the file mapped, and nothing
            // ends that wait: while a process is known to hold its lock, the file is not followed yet.
            if (reads_->quick.is_any_blocked() || reads_->slow.is_any_blocked()) return false;
            file = reads_->quick.ask(LibraryJob{.kind = kind_.kind, .pid = process.pid, .mapped = mapping});
            if (!file) return false;
        }
        Library& library = libraries_[key];
        if (!known) library.followed_ns = now_ns;
        library.users.try_emplace(process.pid, look.just_mapped);
        if (known) continue;
        if (auto followed = follow(session, *file, library); !followed) {
            ++refused_;
            refusals_.push_back(followed.error());
        }
    }
    tell_if_from_start(process);
    return true;
}

void LibraryFollower::look(Session& session, std::uint64_t now_ns) {
    std::size_t looked = 0;
    for (auto next = to_look_at_.begin(); next != to_look_at_.end() && looked < kMostLooksPerTurn; ++looked)
        next = look_at_maps(session, next->first, next->second, now_ns) ? to_look_at_.erase(next) : std::next(next);
}

// A program maps its libraries some time after it was executed: the longer it lives without one, the more rarely it is
// looked at.
void LibraryFollower::look_again(const ProcessTable& processes, std::uint64_t now_ns) {
    constexpr std::uint64_t kFirst = 1'000'000'000;
    constexpr std::uint64_t kLast = 60 * kFirst;
    const auto& living = processes.living();
    std::erase_if(looks_, [&](const auto& entry) {
        const auto found = living.find(entry.first.pid);
        return found == living.end() || found->second.task.id != entry.first;
    });
    for (const auto& [pid, process] : living) {
        if (to_look_at_.size() >= kMostLooksPerTurn) return;
        Look& look = looks_[process.task.id];
        if (now_ns < look.next_ns) continue;
        look.wait_ns = std::clamp(2 * look.wait_ns, kFirst, kLast);
        look.next_ns = now_ns + look.wait_ns;
        look_at(process.task.id, false);
    }
}

// A job that is started again soon finds its library followed: to attach takes a moment, to let go seconds.
void LibraryFollower::leave_unused(const ProcessTable& processes, std::uint64_t now_ns) {
    for (const TrackedProcess& process : processes.ended())
        for (auto& [key, library] : libraries_) library.users.erase(process.task.id.pid);
    const auto is_unused = [&](const Library& library) {
        return library.users.empty() && (library.probes.empty() || now_ns - library.used_ns >= kLingerNs);
    };
    for (auto& [key, library] : libraries_) {
        if (!library.users.empty()) library.used_ns = now_ns;
        if (is_unused(library)) detacher_.let_go(std::move(library.probes));
    }
    std::erase_if(libraries_, [&](const auto& entry) { return is_unused(entry.second); });
}

void LibraryFollower::tick(Session& session, const ProcessTable& processes, std::uint64_t now_ns) {
    if (on_ && !session.tells_of_cuda()) look_again(processes, now_ns);
    look(session, now_ns);
    leave_unused(processes, now_ns);
}

void LibraryFollower::tell_if_from_start(const ProcessId& process) {
    if (kind_.tells_from_start && is_followed_from_its_start(process)) followed_from_start_.push_back(process);
}

bool LibraryFollower::is_followed_from_its_start(const ProcessId& process) const {
    bool any = false;
    for (const auto& [key, library] : libraries_) {
        const auto user = library.users.find(process.pid);
        if (user == library.users.end()) continue;
        if (!user->second || library.probes.empty()) return false;
        any = true;
    }
    return any;
}

bool LibraryFollower::has_any() const {
    return std::ranges::any_of(libraries_, [](const auto& entry) { return !entry.second.users.empty(); });
}

bool LibraryFollower::is_following() const {
    return std::ranges::any_of(
        libraries_, [](const auto& entry) { return !entry.second.users.empty() && !entry.second.probes.empty(); });
}

}  // namespace memscope
