// A process tree for storm.py that forks, execs, starts threads, makes orphans, kills and moves between cgroups as fast
// as it can. It counts its own starts, leaves some processes alive, prints the counts as JSON and waits to be killed.
//   storm_tree SECONDS OUTSIDE A B      directories of cgroups; begins in A; A and B lie in one watched cgroup
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

enum Place { kOutside, kA, kB };

struct Shared {
    std::atomic<std::uint64_t> outer, a, b;  // starts that a watcher of the cgroup must count, moves into it included
    std::atomic<std::uint64_t> execs, threads, moves, kills;
    std::atomic<std::uint64_t> ready;
    std::atomic<bool> stop;
};
Shared* shared = nullptr;
std::string directories[3];
Place where = kA;

void entered(Place from, Place to) {
    if (to == from || to == kOutside) return;
    ++(to == kA ? shared->a : shared->b);
    if (from == kOutside) ++shared->outer;
}

pid_t start() {
    const pid_t child = ::fork();
    if (child > 0) entered(kOutside, where);
    return child;
}

void move(Place to) {
    const int file = ::open((directories[to] + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
    if (file >= 0 && ::write(file, "0", 1) == 1) {
        entered(where, to);
        where = to;
        ++shared->moves;
    }
    ::close(file);
}

void nap(long microseconds) {
    const timespec time{0, microseconds * 1000};
    ::nanosleep(&time, nullptr);
}

pthread_t thread(void* (*body)(void*)) {
    pthread_t made{};
    if (::pthread_create(&made, nullptr, body, nullptr) != 0) ::_exit(1);
    ++shared->threads;
    return made;
}

void become_leaf() {  // ends in main() of a new program
    ++shared->execs;
    ::execl("/proc/self/exe", "storm_leaf", nullptr);
    ::_exit(1);
}

// The actions of a child. Each action ends the child.
void die_at_once() { ::_exit(0); }
void exec_and_die() { become_leaf(); }
void thread_and_die() {
    for (int i = 0; i < 3; ++i) thread([](void*) -> void* { return nullptr; });
    ::_exit(0);
}
void first_thread_leaves_first() {
    thread([](void*) -> void* {
        nap(2000);
        ::_exit(0);
    });
    ::pthread_exit(nullptr);
}
void exec_from_another_thread() {  // that thread takes over the pid of the first thread
    thread([](void*) -> void* {
        become_leaf();
        return nullptr;
    });
    for (;;) ::pause();
}
void leave_an_orphan() {
    if (start() == 0) {
        nap(1000);
        if (start() == 0) ::_exit(0);
        ::_exit(0);
    }
    ::_exit(0);
}
void wander() {
    for (const Place to : {kB, kOutside, kB, kA, kOutside, kA}) {
        move(to);
        if (start() == 0) ::_exit(0);
    }
    while (::wait(nullptr) > 0) continue;
    ::_exit(0);
}
void* wander_with_threads(void*) {
    nap(20000);
    return nullptr;
}
void wander_as_many() {
    thread(wander_with_threads);
    move(kB);
    thread(wander_with_threads);
    move(kOutside);  // ends outside: the move is an exit for the target, and no exit event follows
    ::_exit(0);
}
void spawn_and_die() {  // vfork: the child shares the memory of its parent until it execs
    char name[] = "storm_leaf";
    char* argv[] = {name, nullptr};
    pid_t child = 0;
    if (::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv, environ) == 0) {
        entered(kOutside, where);
        ++shared->execs;
        ::waitpid(child, nullptr, 0);
    }
    ::_exit(0);
}

struct Life {
    void (*live)();
    unsigned weight;  // a move costs the kernel milliseconds, other actions microseconds
};
constexpr Life kLives[] = {
    {die_at_once, 40},     {exec_and_die, 20},  {thread_and_die, 10},          {first_thread_leaves_first, 5},
    {leave_an_orphan, 10}, {spawn_and_die, 10}, {exec_from_another_thread, 5}, {wander, 1},
    {wander_as_many, 1}};

[[noreturn]] void be_worker(unsigned seed) {
    while (!shared->stop) {
        unsigned dice = static_cast<unsigned>(::rand_r(&seed)) % 104;
        if (dice >= 102) {  // killed while it sleeps
            const pid_t child = start();
            if (child == 0)
                for (;;) ::pause();
            if (child > 0 && ::kill(child, SIGKILL) == 0) ++shared->kills;
        } else {
            const Life* life = kLives;
            for (; dice >= life->weight; ++life) dice -= life->weight;
            if (start() == 0) life->live();
        }
        // At most a few children at a time, so that they do not start faster than they end.
        while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
        if (::rand_r(&seed) % 4 == 0) ::wait(nullptr);
    }
    while (::wait(nullptr) > 0) continue;
    ::_exit(0);
}

[[noreturn]] void survive(std::size_t mebibytes, Place place) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (place != where) move(place);
    const std::size_t bytes = mebibytes << 20U;
    void* held = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (held != MAP_FAILED) std::memset(held, 1, bytes);
    ++shared->ready;
    for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1) return 0;  // a leaf
    if (argc != 5) return 2;
    for (int i = 0; i < 3; ++i) directories[i] = argv[2 + i];
    shared = static_cast<Shared*>(
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans become our children, with any init process
    entered(kOutside, kA);               // ourselves

    const long workers = ::sysconf(_SC_NPROCESSORS_ONLN) * 2;
    for (unsigned i = 0; i < static_cast<unsigned>(workers < 16 ? workers : 16); ++i)
        if (start() == 0) be_worker(i + 1);
    const time_t end = ::time(nullptr) + ::atol(argv[1]);
    while (::time(nullptr) < end) {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
        nap(1000);
    }
    shared->stop = true;
    while (::wait(nullptr) > 0) continue;

    constexpr std::uint64_t kSurvivors = 8;
    for (std::uint64_t i = 0; i < kSurvivors; ++i)
        if (start() == 0) survive(i + 1, i % 3 == 0 ? kB : kA);
    while (shared->ready < kSurvivors) nap(1000);
    std::printf(
        "{\"outer\": %lu, \"a\": %lu, \"b\": %lu, \"execs\": %lu, \"threads\": %lu, \"moves\": %lu, \"kills\": %lu}\n",
        shared->outer.load(), shared->a.load(), shared->b.load(), shared->execs.load(), shared->threads.load(),
        shared->moves.load(), shared->kills.load());
    std::fflush(stdout);
    for (;;) ::pause();
}
