#include "watch/gpu/library_follower.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/result.h"
#include "sources/gpu/probed_libraries.h"

namespace memscope {
namespace {

constexpr std::size_t kMostLibraries = 16;      // each has a process that holds its probes
constexpr std::size_t kMostKnown = 64;          // including libraries that cannot be followed
constexpr std::size_t kMostChecksPerTurn = 50;  // a check takes 1 ms if the process has thousands of mappings
constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kLingerNs = 60 * kSecondNs;
// Attaching takes some milliseconds. On kernels that attach one probe at a time it takes some tenths of a second.
constexpr std::uint64_t kAttachDeadlineNs = 5 * kSecondNs;
constexpr std::uint64_t kFirstRetryNs = kSecondNs;  // after a holder has ended; doubled each time
constexpr unsigned kMostDoublings = 6;
constexpr std::uint64_t kAgainNs = 5 * kSecondNs;  // after a process or library could not be read

MapsReader reader_of(LibraryKind kind) {
    switch (kind) {
        case LibraryKind::cuda:
            return MapsReader::cuda;
        case LibraryKind::gpu_tensors:
            return MapsReader::gpu_tensors;
        case LibraryKind::host_tensors:
            break;
    }
    return MapsReader::host_tensors;
}

}  // namespace

void LibraryFollower::check_soon(const ProcessId& process, std::uint64_t mapped_ns) {
    if (!on_) return;
    ToCheck& check = to_check_[process];
    if (check.mapped_ns == 0) check.mapped_ns = mapped_ns;  // the earliest one, because it may have been this library
    check.number = 0;  // a read that is under way may have begun before the file was mapped
    check.next_ns = 0;
    check.mappings.reset();
}

void LibraryFollower::begin(const TrackedProcess& process) {
    if (!on_) return;
    const ProcessId& id = process.task.id;
    if (!process.born_here) return check_soon(id, 0);
    // After an exec, an event follows when the process maps a library.
    if (libraries_.empty() || process.exec_count > 0) return;
    bool inherits = false;
    for (auto& [key, library] : libraries_)
        if (const auto parent = library.users.find(process.task.parent); parent != library.users.end()) {
            const bool from_start = parent->second.from_start && id.start_ns >= library.followed_ns;
            const User user{.id = id, .mapped_ns = parent->second.mapped_ns, .from_start = from_start};
            inherits = library.users.try_emplace(id.pid, user).second || inherits;
        }
    note_if_from_start(id);
    if (!inherits) check_soon(id, 0);  // the parent may have ended, or may have just mapped a library
}

void LibraryFollower::executed(const ProcessId& process) {
    to_check_.erase(process);  // it mapped the library in the program before
    for (auto& [key, library] : libraries_) library.users.erase(process.pid);
}

void LibraryFollower::refuse(Library& library, Error why) {
    library.file.reset();
    ++refused_;
    refusals_.push_back(std::move(why));
}

Status LibraryFollower::follow(Session& session, Library& library, std::uint64_t now_ns) {
    std::size_t followed = 0;
    for (const auto& [key, known] : libraries_) followed += known.holder ? 1 : 0;
    if (followed >= kMostLibraries)
        return plain_error("there are too many " + kind_.name + ", so this one is not followed");
    const auto probes = (paused_ ? kind_.probes_in_pause : kind_.probes)(session, *library.file);
    if (!probes) return probes.error();
    auto holder = reads_->probes.attach(*probes, now_ns);
    if (!holder) return holder.error();
    library.holder.emplace(std::move(*holder));
    update(session, library, now_ns);
    return Done{};
}

// Detaches all probes. The next check_libraries() attaches the probes of the new state.
void LibraryFollower::attach_anew(bool paused) {
    paused_ = paused;
    for (auto& [key, library] : libraries_) {
        if (library.holder) reads_->probes.release(std::move(*library.holder));
        library.holder.reset();
        library.attached_ns = 0;
        for (auto& [pid, user] : library.users) user.from_start = false;
    }
}

void LibraryFollower::follow_or_refuse(Session& session, Library& library, std::uint64_t now_ns) {
    if (paused_ && !kind_.probes_in_pause) return;
    const auto followed = follow(session, library, now_ns);
    if (followed) return;
    if (!is_retryable(followed.error())) return refuse(library, followed.error());
    library.retry_ns = now_ns + kAgainNs;
    if (std::exchange(library.reported_late, true)) return;
    ++refused_;
    refusals_.push_back(followed.error());
}

void LibraryFollower::update(Session& session, Library& library, std::uint64_t now_ns) {
    if (!library.holder) {
        if (library.file && now_ns >= library.retry_ns) follow_or_refuse(session, library, now_ns);
        return;
    }
    library.holder->update();
    switch (library.holder->state()) {
        case ProbeHolder::State::attaching:
            // The holder keeps trying. It cannot be killed while the kernel waits for an mmap_lock, and another holder
            // would wait for the same lock.
            if (library.reported_late || now_ns - library.holder->began_ns() < kAttachDeadlineNs) return;
            library.reported_late = true;
            ++refused_;
            refusals_.push_back(plain_error(
                fmt::format("one of the {} is not followed for now: {}", kind_.name, library.holder->obstacle()),
                "memscope keeps trying"));
            return;
        case ProbeHolder::State::attached:
            if (library.attached_ns == 0) attached(library);
            return;
        case ProbeHolder::State::refused: {
            Error why = library.holder->error();
            library.holder.reset();
            return refuse(library, std::move(why));
        }
        case ProbeHolder::State::lost:
            lost(library, now_ns);
            return update(session, library, now_ns);  // starts the next holder if its retry is due
    }
}

// A program usually initializes itself for longer than kSoonNs after it has mapped the library. If the probes were
// attached later, the process may have used the library before.
bool LibraryFollower::is_used_from_start(const Library& library, std::uint64_t mapped_ns) {
    constexpr std::uint64_t kSoonNs = 2 * kSecondNs;
    return mapped_ns != 0 && (library.attached_ns == 0 || library.attached_ns <= mapped_ns + kSoonNs);
}

void LibraryFollower::attached(Library& library) {
    library.attached_ns = library.holder->attached_ns();
    if (library.losses > 0) library.followed_ns = library.attached_ns;
    for (auto& [pid, user] : library.users) {
        user.from_start = user.from_start && is_used_from_start(library, user.mapped_ns);
        note_if_from_start(user.id);
    }
}

// The kernel has detached the probes, because the process that held them has ended.
void LibraryFollower::lost(Library& library, std::uint64_t now_ns) {
    library.holder.reset();
    library.attached_ns = 0;
    ++losses_;
    library.retry_ns = now_ns + (library.losses == 0 ? 0 : kFirstRetryNs << std::min(library.losses, kMostDoublings));
    if (library.losses++ == 0)
        refusals_.push_back(plain_error("the process that holds the probes of one of the " + kind_.name + " has ended",
                                        "memscope attaches the probes again; calls in the meantime were missed"));
    for (auto& [pid, user] : library.users) {
        if (kind_.reports_from_start && user.from_start) interrupted_.push_back(user.id);
        user.from_start = false;
    }
}

// Adds the libraries that the process has mapped. False: a helper still
// reads the maps of the process or the library, or could not read them.
bool LibraryFollower::check_maps(Session& session, const ProcessId& process, ToCheck& check, std::uint64_t now_ns) {
    const auto try_later = [&] {
        check.number = 0;
        check.next_ns = now_ns + kAgainNs;
        return false;
    };
    if (!check.mappings) {
        if (check.number == 0) check.number = ++numbers_;
        const auto maps =
            reads_->quick.ask(MapsJob{.pid = process.pid, .reader = reader_of(kind_.kind), .number = check.number});
        if (!maps) return false;
        if (!*maps && is_retryable(maps->error())) return try_later();
        if (!*maps) return true;  // the process has ended
        check.mappings = mappings_named((*maps)->text, kind_.file_name);
    }
    for (const MappedRange& mapping : *check.mappings) {
        const FileKey key{mapping.dev_major, mapping.dev_minor, mapping.inode};
        const bool known = libraries_.contains(key);
        if (!known && libraries_.size() >= kMostKnown) {
            ++refused_;
            continue;
        }
        std::optional<Result<LibraryAnswer>> file;
        if (!known) {
            file = reads_->quick.ask(LibraryJob{.kind = kind_.kind, .pid = process.pid, .mapped = mapping});
            if (!file) return false;
            if (!*file && is_retryable(file->error())) return try_later();
            if (!*file && file->error().code == std::errc::no_such_process) return true;
        }
        Library& library = libraries_[key];
        if (!known) library.followed_ns = now_ns;
        const bool from_start = is_used_from_start(library, check.mapped_ns);
        library.users.try_emplace(process.pid,
                                  User{.id = process, .mapped_ns = check.mapped_ns, .from_start = from_start});
        if (known) continue;
        if (!*file) {
            refuse(library, file->error());
            continue;
        }
        library.file.emplace(std::move(**file));
        follow_or_refuse(session, library, now_ns);
    }
    note_if_from_start(process);
    return true;
}

void LibraryFollower::check_libraries(Session& session, std::uint64_t now_ns) {
    for (auto& [key, library] : libraries_) update(session, library, now_ns);
    std::size_t checked = 0;
    for (auto next = to_check_.begin(); next != to_check_.end() && checked < kMostChecksPerTurn;) {
        if (now_ns < next->second.next_ns) {
            ++next;
            continue;
        }
        ++checked;
        next = check_maps(session, next->first, next->second, now_ns) ? to_check_.erase(next) : std::next(next);
    }
}

// Checks all processes for new libraries, because there are no events for mapped files. A program maps its libraries
// some time after the exec. The interval between two checks of a process doubles up to 60 s.
void LibraryFollower::recheck(const ProcessTable& processes, std::uint64_t now_ns) {
    constexpr std::uint64_t kFirst = 1'000'000'000;
    constexpr std::uint64_t kLast = 60 * kFirst;
    const auto& living = processes.living();
    std::erase_if(rechecks_, [&](const auto& entry) {
        const auto found = living.find(entry.first.pid);
        return found == living.end() || found->second.task.id != entry.first;
    });
    for (const auto& [pid, process] : living) {
        if (to_check_.size() >= kMostChecksPerTurn) return;
        Recheck& planned = rechecks_[process.task.id];
        if (now_ns < planned.next_ns) continue;
        planned.wait_ns = std::clamp(2 * planned.wait_ns, kFirst, kLast);
        planned.next_ns = now_ns + planned.wait_ns;
        check_soon(process.task.id, 0);
    }
}

// A library stays followed for a while after its last process has ended, because a job is often started again soon.
void LibraryFollower::leave_unused(const ProcessTable& processes, std::uint64_t now_ns) {
    for (const TrackedProcess& process : processes.ended())
        for (auto& [key, library] : libraries_) library.users.erase(process.task.id.pid);
    const auto is_unused = [&](const Library& library) {
        return library.users.empty() && (library.attached_ns == 0 || now_ns - library.used_ns >= kLingerNs);
    };
    for (auto& [key, library] : libraries_) {
        if (!library.users.empty()) library.used_ns = now_ns;
        if (is_unused(library) && library.holder) reads_->probes.release(std::move(*library.holder));
    }
    std::erase_if(libraries_, [&](const auto& entry) { return is_unused(entry.second); });
}

void LibraryFollower::tick(Session& session, const ProcessTable& processes, std::uint64_t now_ns) {
    if (on_ && !session.find<MappingCalls>()) recheck(processes, now_ns);
    check_libraries(session, now_ns);
    leave_unused(processes, now_ns);
}

void LibraryFollower::note_if_from_start(const ProcessId& process) {
    if (kind_.reports_from_start && is_followed_from_its_start(process)) followed_from_start_.push_back(process);
}

bool LibraryFollower::is_followed_from_its_start(const ProcessId& process) const {
    bool any = false;
    for (const auto& [key, library] : libraries_) {
        const auto user = library.users.find(process.pid);
        if (user == library.users.end()) continue;
        if (!user->second.from_start || library.attached_ns == 0) return false;
        any = true;
    }
    return any;
}

bool LibraryFollower::has_any() const {
    return std::ranges::any_of(libraries_, [](const auto& entry) { return !entry.second.users.empty(); });
}

void LibraryFollower::describe(SelfSample& self) const {
    self.dropped[std::string(kind_.loss)] = refused_;
    if (has_any()) self.probes.push_back({std::string(kind_.probe), is_following()});
}

bool LibraryFollower::is_following() const {
    return !paused_ && std::ranges::any_of(libraries_, [](const auto& entry) {
        return !entry.second.users.empty() && entry.second.attached_ns != 0;
    });
}

}  // namespace memscope
