#include "watch/helpers/probe_holder.h"

#include <csignal>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/packing.h"
#include "support/fake_tree.h"
#include "watch/clock.h"
#include "watch/helpers/message.h"

namespace memscope {
namespace probe_holder_test {

using State = ProbeHolder::State;

std::shared_ptr<HelperSpawner> spawner_of(std::function<void(Fd)> hold) {
    auto started = HelperSpawner::start({.prepare = {}, .serve = {}, .hold_probes = std::move(hold)});
    if (!started) throw std::runtime_error(started.error().message());
    return *started;
}

void say_who(const Fd& socket) {
    const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    const int own[] = {self.get()};
    (void)send_message(socket, "p", {}, own, 0);
}

void say_done(const Fd& socket) {
    Packer answer;
    answer.put(Result<std::uint64_t>(read_clock().boot_ns));
    (void)send_message(socket, answer.bytes(), {}, {}, 0);
}

ProbeRequest request_for(const char* path) {
    ProbeRequest request{.purpose = "follow a test"};
    request.library = Fd(::open(path, O_PATH | O_CLOEXEC));
    request.groups.push_back({.program = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), .points = {{.offset = 64}}});
    return request;
}

// Waits until the holder has another state than `before`. Its messages end the poll().
State state_after(State before, ProbeHolders& holders, ProbeHolder& holder) {
    while (holder.state() == before) {
        pollfd wanted{holders.fd(), POLLIN, 0};
        if (::poll(&wanted, 1, 60'000) != 1) break;
        holder.update();
    }
    return holder.state();
}

TEST(ProbeHolder, AttachDoesNotWaitLongForAHolderThatDoesNotAnswer) {
    ProbeHolders holders(spawner_of([](Fd socket) {
        say_who(socket);
        (void)receive_message(socket, 0);  // the request
        (void)receive_message(socket, 0);  // until the watcher's end is closed
    }));
    auto holder = holders.attach(request_for("/bin/true"), read_clock().boot_ns);
    ASSERT_TRUE(holder) << holder.error().message();
    EXPECT_EQ(holder->state(), State::attaching);
    EXPECT_EQ(holder->obstacle(), "the process that attaches probes does not start");
}

TEST(ProbeHolder, AHolderThatEndsLosesItsProbes) {
    ProbeHolders holders(spawner_of([](Fd socket) {
        say_who(socket);
        (void)receive_message(socket, 0);
        say_done(socket);
    }));
    auto holder = holders.attach(request_for("/bin/true"), read_clock().boot_ns);
    ASSERT_TRUE(holder) << holder.error().message();
    State state = state_after(State::attaching, holders, *holder);
    if (state == State::attached) state = state_after(State::attached, holders, *holder);
    EXPECT_EQ(state, State::lost) << "it has answered, and ended";
}

TEST(ProbeHolder, SaysWhyTheKernelRefuses) {
    ProbeHolders holders(spawner_of([](Fd socket) { serve_probes(std::move(socket)); }));
    auto holder = holders.attach(request_for("/bin/true"), read_clock().boot_ns);
    ASSERT_TRUE(holder) << holder.error().message();
    ASSERT_EQ(state_after(State::attaching, holders, *holder), State::refused);
    EXPECT_EQ(holder->error().where, "follow a test");
    EXPECT_NE(holder->error().code.value(), 0);
}

// Attaching while a process holds its mmap_lock would block every fork() on the machine.
void expect_refusal(const SysRoot& root, const std::string& why) {
    ProbeHolders holders(spawner_of([root](Fd socket) { serve_probes(std::move(socket), root); }));
    auto holder = holders.attach(request_for("/bin/true"), read_clock().boot_ns);
    ASSERT_TRUE(holder) << holder.error().message();
    ASSERT_EQ(state_after(State::attaching, holders, *holder), State::refused);
    EXPECT_NE(holder->error().message().find(why), std::string::npos) << holder->error().message();
}

TEST(ProbeHolder, DoesNotAttachIfItCannotListProcesses) {
    const FakeTree nothing;
    expect_refusal(nothing.root(), "open " + nothing.at("proc").native());
}

TEST(ProbeHolder, DoesNotAttachIfProcHidesProcesses) {
    const FakeTree hidden{{"proc/10/cmdline", "python3"}};
    expect_refusal(hidden.root(), "/proc does not list all of them");
}

TEST(ProbeHolder, DoesNotAttachIfItCannotCheckAProcess) {
    const FakeTree tree{{"proc/1/cmdline", "init"}, {"proc/10/", ""}};
    fs::create_symlink("cmdline", tree.at("proc/10/cmdline"));  // ELOOP, for root as well
    expect_refusal(tree.root(), "check the mmap_lock of process 10");
}

TEST(ProbeHolder, AProcessThatHasEndedDoesNotKeepItFromAttaching) {
    const FakeTree tree{{"proc/1/cmdline", "init"}, {"proc/10/", ""}};
    expect_refusal(tree.root(), "follow a test");  // the kernel refuses this request, so the request reached the kernel
}

TEST(ProbeHolder, ReleaseEndsTheHolderWhileTheSpawnerLives) {
    // attach() counts holders that have not ended: with kMostLeaving of them it fails.
    ProbeHolders holders(spawner_of([](Fd socket) {
        say_who(socket);
        (void)receive_message(socket, 0);
        say_done(socket);
        (void)receive_message(socket, 0);
    }));
    for (std::size_t started = 0; started < 2 * ProbeHolders::kMostLeaving;) {
        auto holder = holders.attach(request_for("/bin/true"), read_clock().boot_ns);
        if (!holder) {  // the last ones are about to end
            ASSERT_NE(holder.error().message().find("too many processes"), std::string::npos);
            ::usleep(1000);
            continue;
        }
        ++started;
        ASSERT_EQ(state_after(State::attaching, holders, *holder), State::attached);
        holders.release(std::move(*holder));
    }
}

TEST(ProbeHolder, AttachFailsWhileTooManyHoldersCannotEnd) {
    ProbeHolders holders(spawner_of([](Fd socket) {
        say_who(socket);
        (void)receive_message(socket, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // with the spawner, when the test is over
        say_done(socket);
        for (;;) ::pause();
    }));
    for (std::size_t i = 0; i < ProbeHolders::kMostLeaving; ++i) {
        auto holder = holders.attach(request_for("/bin/true"), read_clock().boot_ns);
        ASSERT_TRUE(holder) << holder.error().message();
        ASSERT_EQ(state_after(State::attaching, holders, *holder), State::attached);
        holders.release(std::move(*holder));
    }
    EXPECT_FALSE(holders.attach(request_for("/bin/true"), read_clock().boot_ns));
}

}  // namespace probe_holder_test
}  // namespace memscope
