#include "demo/demo_tree.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "demo/scenario.h"
#include "watch/clock.h"

namespace memscope {
namespace {

// Maps memory and touches it, because untouched memory is not resident. Huge pages are off, so that sizes are exact and
// a write copies only one small page.
std::span<char> map_touched(Bytes size) {
    void* mapped = ::mmap(nullptr, size.n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return {};
    (void)::madvise(mapped, size.n, MADV_NOHUGEPAGE);  // fails on a kernel without huge pages, which is fine
    std::memset(mapped, 1, size.n);
    return {static_cast<char*>(mapped), size.n};
}

}  // namespace

void ResidentMemory::follow(Bytes wanted) {
    const std::size_t count = (wanted.n + kChunk.n / 2) / kChunk.n;
    for (; chunks_.size() > count; chunks_.pop_back()) ::munmap(chunks_.back().data(), chunks_.back().size());
    while (chunks_.size() < count) {
        const auto chunk = map_touched(kChunk);
        if (chunk.empty()) return;
        chunks_.push_back(chunk);
    }
}

void FragmentedHeap::follow(Bytes wanted) {
    const std::size_t count = (wanted.n + kBlock / 2) / kBlock;
    pieces_.reserve(std::max(count, pieces_.capacity()));
    while (pieces_.size() < count) {
        void* block = std::malloc(kBlock);
        if (!block) return;
        std::memset(block, 1, kBlock);
        // The previous block is cut only after the next one was allocated. Otherwise its free rest would merge with the
        // end of the heap.
        if (!pieces_.empty())
            if (void* cut = std::realloc(pieces_.back(), kLive)) pieces_.back() = cut;
        pieces_.push_back(block);
    }
}

FragmentedHeap::~FragmentedHeap() {
    for (void* piece : pieces_) std::free(piece);
}

Dataset Dataset::build(Bytes size) {
    Dataset built;
    if (size.n > 0) built.bytes_ = map_touched(size);
    return built;
}

void Dataset::rewrite(Bytes wanted) {
    const std::size_t page = page_bytes();
    const std::size_t end = std::min<std::size_t>(wanted.n, bytes_.size());
    for (; written_ < end; written_ += page) {
        volatile char& byte = bytes_[written_];
        byte = 2;
    }
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would not be shared between processes");

Result<StageClock> StageClock::make(double speed) {
    Fd file(::memfd_create("memscope-demo-clock", MFD_CLOEXEC));
    if (!file || ::ftruncate(file.get(), sizeof(Shared)) != 0) return system_error(errno, "make the clock of the demo");
    void* page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (page == MAP_FAILED) return system_error(errno, "map the clock of the demo");
    return StageClock(std::move(file), std::unique_ptr<Shared, Unmap>(new (page) Shared(0)), speed);
}

void StageClock::Unmap::operator()(Shared* page) const { ::munmap(page, sizeof(Shared)); }

Seconds StageClock::at(std::uint64_t boot_ns) const {
    const std::uint64_t began_ns = *began_ns_;
    if (began_ns == 0 || boot_ns <= began_ns) return {};
    return std::min(Seconds{static_cast<double>(boot_ns - began_ns) * 1e-9 * speed_}, kScenarioLength);
}

namespace {

constexpr Seconds kStep{0.25};  // on the scenario's clock
constexpr int kNoReport = -1;   // a process that replaces a dead one reports nothing
void sleep_for(Seconds time) { std::this_thread::sleep_for(time); }

void die_with(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // the parent died before PR_SET_PDEATHSIG was set
}

// Runs a process of the tree until it is killed. Each process writes one byte to `ready` when it holds its initial
// memory, unless `ready` is kNoReport.
[[noreturn]] void act(const Actor& actor, pid_t parent, const StageClock& clock, int ready, Dataset dataset) {
    die_with(parent);
    ::prctl(PR_SET_NAME, actor.comm.c_str());
    Dataset own = Dataset::build(actor.dataset);
    if (own.size() < actor.dataset) ::_exit(1);
    const pid_t self = ::getpid();
    for (const Actor& child : actor.children) {  // forked before more memory is held, so that no child inherits it
        const pid_t forked = ::fork();
        if (forked == 0) act(child, self, clock, ready, own);
        if (forked < 0) ::_exit(1);
    }
    ResidentMemory memory;
    FragmentedHeap heap;
    const Seconds born = clock.at(read_clock().boot_ns);  // 0, unless the process replaces one that died
    const auto play = [&] {
        const Seconds now = clock.at(read_clock().boot_ns) - born;
        memory.follow(actor.holds(now));
        heap.follow(actor.mallocs(now));
        dataset.rewrite(actor.rewrites(now));
    };
    play();
    if (ready >= 0 && ::write(ready, "", 1) != 1) ::_exit(1);
    if (ready >= 0) ::close(ready);
    for (;;) {
        sleep_for(kStep / clock.speed());
        play();
        while (actor.restarts && ::waitpid(-1, nullptr, WNOHANG) > 0)
            for (const Actor& child : actor.children)
                if (::fork() == 0) act(child, self, clock, kNoReport, own);
    }
}

// memscope blocks the signals that would end it. The processes of the tree unblock them, and ignore Ctrl-C, which only
// the watcher handles.
void take_signals_back() {
    std::signal(SIGINT, SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Status wait_for_all(const Fd& ready, std::size_t count, Seconds patience) {
    const std::uint64_t began_ns = read_clock().boot_ns;
    while (count > 0) {
        const Seconds left = patience - Seconds{static_cast<double>(read_clock().boot_ns - began_ns) * 1e-9};
        pollfd waiting{.fd = ready.get(), .events = POLLIN, .revents = 0};
        if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count() * 1000)) == 0)
            return plain_error("the processes of the demo are not ready after " + human_duration(patience),
                               "try again when the machine is less busy");
        char bytes[16];
        const ssize_t n = ::read(ready.get(), bytes, std::min(count, sizeof bytes));
        if (n == 0)
            return plain_error("a process of the demo ended at its start",
                               "the demo needs 1 GiB of memory and 8 processes");
        if (n > 0) count -= static_cast<std::size_t>(n);
    }
    return Done{};
}

}  // namespace

Result<DemoTree> DemoTree::start(const Actor& top, OwnCgroup& cgroup, const StageClock& clock) {
    constexpr Seconds kPatience{10};
    const pid_t self = ::getpid();
    return start(cgroup, count_actors(top), kPatience, [&](int ready) { act(top, self, clock, ready, {}); });
}

Result<DemoTree> DemoTree::start(OwnCgroup& cgroup, std::size_t reports, Seconds patience,
                                 const std::function<void(int ready)>& become_first) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error(errno, "make a pipe");
    const Fd ready(ends[0]);
    Fd report(ends[1]);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // we reap orphans of the tree, because not every init process does
    const pid_t self = ::getpid();
    const pid_t forked = ::fork();
    if (forked < 0) return system_error(errno, "fork the demo");
    if (forked == 0) {
        take_signals_back();
        die_with(self);
        if (!cgroup.enter()) ::_exit(1);
        become_first(report.get());
        ::_exit(1);
    }
    DemoTree tree(forked);
    report = Fd();  // now only the tree has this end of the pipe: when all close it, read() returns 0
    if (auto all = wait_for_all(ready, reports, patience); !all) return all.error();
    return tree;
}

DemoTree::~DemoTree() {
    if (top_ == 0) return;
    ::kill(top_, SIGKILL);
    for (int i = 0; i < 250; ++i) {  // the other processes die one level after the other
        pid_t reaped = 0;
        do reaped = ::waitpid(-1, nullptr, WNOHANG);
        while (reaped > 0);
        if (reaped < 0) return;
        sleep_for(Seconds{0.02});
    }
}

}  // namespace memscope
