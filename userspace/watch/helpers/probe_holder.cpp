#include "watch/helpers/probe_holder.h"

#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"
#include "base/packing.h"
#include "base/result.h"
#include "base/text.h"
#include "watch/clock.h"
#include "watch/helpers/message.h"

namespace memscope {
namespace {

// What a holder does now. The holder writes this into its memfd. Reader and writer are the same program, so the layout
// is the same.
struct Progress {
    enum class Step : std::uint32_t { starts, checks, attaches };
    Step step = Step::starts;
    pid_t pid = 0;  // checks: the process whose mmap_lock is being taken
};

void note(const Fd& progress, const Progress& now) { (void)!::pwrite(progress.get(), &now, sizeof now, 0); }

bool is_readable(const Fd& fd) {
    pollfd wanted{fd.get(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
}

// All processes of the machine, as /proc lists them. /proc is opened once and kept open, so that opening it before
// detaching cannot fail.
class ListedProcesses {
  public:
    static Result<ListedProcesses> open(const SysRoot& root) {
        Directory directory(::opendir(root.proc.c_str()));
        if (!directory) return system_error(errno, "open " + root.proc.native());
        return ListedProcesses(std::move(directory));
    }

    // Reads a byte of each process once. Each read waits until the process does not hold its mmap_lock. The process can
    // take the lock again afterwards. Fails if there are processes that could not be checked.
    Status wait_for_mmap_locks(const Fd& progress) {
        bool lists_init = false;
        std::optional<Error> failure;
        ::rewinddir(directory_.get());
        while (const dirent* entry = ::readdir(directory_.get())) {
            const std::string_view name = entry->d_name;
            pid_t pid = 0;
            if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
            lists_init = lists_init || pid == 1;
            const std::string file = std::string(name) + "/cmdline";
            const Fd line(::openat(::dirfd(directory_.get()), file.c_str(), O_RDONLY | O_CLOEXEC));
            if (!line && (errno == ENOENT || errno == ESRCH)) continue;  // the process has ended
            if (!line) {
                failure = failure.value_or(system_error(errno, "check the mmap_lock of process " + std::string(name)));
                continue;
            }
            note(progress, {.step = Progress::Step::checks, .pid = pid});
            char byte = 0;
            (void)!::read(line.get(), &byte, 1);
        }
        if (failure) return *failure;
        // Every pid namespace has a process 1. With the mount option hidepid= /proc does not list processes of other
        // users.
        if (!lists_init) return plain_error("check the mmap_locks of all processes: /proc does not list all of them");
        return Done{};
    }

  private:
    using Directory = std::unique_ptr<DIR, decltype([](DIR* directory) { ::closedir(directory); })>;
    explicit ListedProcesses(Directory directory) : directory_(std::move(directory)) {}
    Directory directory_;
};

}  // namespace

ProbeHolder::~ProbeHolder() {
    // Closing the descriptor is not enough, because a process that was forked from this one can have a copy.
    if (socket_) (void)::shutdown(socket_.get(), SHUT_RDWR);
}

std::string ProbeHolder::obstacle() const {
    Progress now;
    if (::pread(progress_.get(), &now, sizeof now, 0) != sizeof now) now = {};
    switch (now.step) {
        case Progress::Step::starts:
            return "the process that attaches probes does not start";
        case Progress::Step::checks: {
            const auto comm = read_file(SysRoot{}.proc / std::to_string(now.pid) / "comm", 64);
            return fmt::format("process {} ({}) holds its mmap_lock", now.pid,
                               comm ? printable(std::string(trimmed(*comm))) : "gone");
        }
        case Progress::Step::attaches:
            return "the kernel does not finish attaching: a process that maps the library holds its mmap_lock";
    }
    return {};
}

void ProbeHolder::update() {
    while (socket_) {
        auto message = receive_message(socket_, MSG_DONTWAIT);
        if (!message && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (!message || message->lost_fds) {
            socket_ = Fd();
            if (state_ != State::refused) state_ = State::lost;
            return;
        }
        if (!process_) {
            if (message->fds.size() == 1) process_ = std::move(message->fds.front());
            continue;
        }
        const auto attached_ns = Unpacker::result<std::uint64_t>(message->text, std::move(message->fds));
        state_ = attached_ns ? State::attached : State::refused;
        if (attached_ns)
            attached_ns_ = *attached_ns;
        else
            error_ = attached_ns.error();
    }
}

ProbeHolders::ProbeHolders(std::shared_ptr<HelperSpawner> spawner)
    : spawner_(std::move(spawner)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

Result<ProbeHolder> ProbeHolders::attach(const ProbeRequest& request, std::uint64_t now_ns) {
    std::erase_if(leaving_, is_readable);
    if (leaving_.size() >= kMostLeaving)
        return system_error(EAGAIN, fmt::format("too many processes wait for detaching probes: {}", leaving_.size()));
    Fd progress(::memfd_create("memscope-probes", MFD_CLOEXEC));
    if (!progress) return system_error(errno, "memfd_create");
    auto socket = spawner_->spawn(HelperSpawner::Helper::probe_holder);
    if (!socket) return socket.error();
    Packer packer;
    packer.put(progress);
    packer.put(request);
    if (send_message(*socket, packer.bytes(), {}, packer.fds(), MSG_DONTWAIT) != SendOutcome::sent)
        return system_error(kNoHelper, "send probes to the process that attaches them");
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket->get(), &event) != 0) return system_error(errno, "epoll_ctl");
    return ProbeHolder(std::move(*socket), std::move(progress), now_ns);
}

void ProbeHolders::release(ProbeHolder holder) {
    std::erase_if(leaving_, is_readable);
    holder.update();  // its pidfd may have arrived since
    if (holder.process_) leaving_.push_back(std::move(holder.process_));
}

namespace {

// Attaches only after every process was checked: see ProbeHolder.
Result<AttachedProbes> attach_checked(Result<ListedProcesses>& processes, const ProbeRequest& request, const Fd& socket,
                                      const Fd& progress) {
    if (!processes) return processes.error();
    if (auto checked = processes->wait_for_mmap_locks(progress); !checked) return checked.error();
    if (is_readable(socket)) return plain_error("the watcher does not need the probes any more, or has ended");
    note(progress, {.step = Progress::Step::attaches});
    return AttachedProbes::attach(request);
}

}  // namespace

void serve_probes(Fd socket, const SysRoot& root) {
    const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    const int own[] = {self.get()};
    if (!self || send_message(socket, "p", {}, own, 0) != SendOutcome::sent) return;
    auto message = receive_message(socket, 0);
    if (!message) return;
    Fd progress;
    ProbeRequest request;
    Unpacker job(message->text, std::move(message->fds));
    if (!job.take(progress) || !job.take(request) || !job.is_whole()) return;
    auto processes = ListedProcesses::open(root);
    const auto probes = attach_checked(processes, request, socket, progress);
    request = {};  // the links keep what they need
    Packer answer;
    answer.put(probes ? Result<std::uint64_t>(read_clock().boot_ns) : Result<std::uint64_t>(probes.error()));
    if (send_message(socket, answer.bytes(), {}, {}, 0) == SendOutcome::sent && probes)
        (void)receive_message(socket, 0);  // the watcher sends nothing: returns when it closes the socket
    // If a process cannot be checked now, the probes are still detached, because they must not outlive the watcher.
    if (probes) (void)processes->wait_for_mmap_locks(progress);
}

}  // namespace memscope
