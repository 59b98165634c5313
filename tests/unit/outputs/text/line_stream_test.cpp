#include "outputs/text/line_stream.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "outputs/http/latest_snapshot.h"

namespace memscope {
namespace line_stream_test {

using Outcome = LineStream::Outcome;

struct Ends {
    Fd read, write;
};
Ends make_pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    return {Fd(fds[0]), Fd(fds[1])};
}
Ends make_socket_pair() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw std::runtime_error("socketpair");
    return {Fd(fds[0]), Fd(fds[1])};
}

std::string read_now(const Fd& fd) {
    std::string all;
    char buffer[65536];
    ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<std::size_t>(n));
    return all;
}

// "<tick>:aaaa…\n" lines; every line whole, ticks rising.
void expect_whole_lines(const std::string& text, std::size_t length) {
    ASSERT_TRUE(text.ends_with("\n"));
    long last = -1;
    for_each_line(text, [&](std::string_view line) {
        EXPECT_EQ(line.size(), length);
        const auto tick = parse_number(line.substr(0, line.find(':')));
        ASSERT_TRUE(tick) << line.substr(0, 30);
        EXPECT_GT(static_cast<long>(*tick), last);
        last = static_cast<long>(*tick);
    });
}
std::string line_of(int tick, std::size_t length) {
    std::string line = std::to_string(tick) + ":";
    return line + std::string(length - line.size(), 'a');
}

struct Stream : testing::Test {
    Stream() { std::signal(SIGPIPE, SIG_IGN); }  // as the program does
};

void nobody_reads_then_somebody_does(Ends ends) {
    constexpr std::size_t kLine = 70001;
    auto stream = LineStream::open(ends.write.get());
    ASSERT_TRUE(stream) << stream.error().message();
    int written = 0;
    int tick = 0;
    for (; tick < 60; ++tick) written += stream->write_tick({line_of(tick, kLine)}) == Outcome::written ? 1 : 0;
    EXPECT_GT(stream->skipped(), 0U);
    EXPECT_EQ(static_cast<std::uint64_t>(written) + stream->skipped(), 60U);
    std::string text = read_now(ends.read);
    EXPECT_EQ(stream->write_tick({line_of(++tick, kLine)}), Outcome::written);
    stream->finish(Seconds{5});
    text += read_now(ends.read);
    expect_whole_lines(text, kLine);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), written + 1);
}

TEST_F(Stream, APipeThatIsNotReadSkipsWholeTicks) { nobody_reads_then_somebody_does(make_pipe()); }
TEST_F(Stream, ASocketThatIsNotReadSkipsWholeTicks) { nobody_reads_then_somebody_does(make_socket_pair()); }

TEST_F(Stream, TheDescriptorItWasGivenStaysBlocking) {
    const Ends ends = make_pipe();
    auto stream = LineStream::open(ends.write.get());
    ASSERT_TRUE(stream);
    ASSERT_EQ(stream->write_tick({"x"}), Outcome::written);
    EXPECT_EQ(::fcntl(ends.write.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(Stream, AReaderThatKeepsUpGetsTicksLargerThanThePipe) {
    const Ends ends = make_pipe();
    auto stream = LineStream::open(ends.write.get());
    ASSERT_TRUE(stream);
    std::size_t total = 0;
    std::thread reader([&] {
        char buffer[65536];
        while (total < 10 * 4000001)
            if (const ssize_t n = ::read(ends.read.get(), buffer, sizeof buffer); n > 0)
                total += static_cast<std::size_t>(n);
            else
                return;
    });
    for (int tick = 0; tick < 10; ++tick) {
        ASSERT_EQ(stream->write_tick({line_of(tick, 4000000)}), Outcome::written);
        for (pollfd writable{stream->fd(), POLLOUT, 0}; stream->has_rest() && ::poll(&writable, 1, 10'000) == 1;)
            ASSERT_EQ(stream->write_rest(), Outcome::written);
    }
    reader.join();
    EXPECT_EQ(total, 10U * 4000001U);
    EXPECT_EQ(stream->skipped(), 0U);
}

// Several messages can be written one after another before the reader has read anything.
TEST_F(Stream, LinesThatAreNoTickWaitForRoom) {
    const Ends ends = make_pipe();
    auto stream = LineStream::open(ends.write.get());
    ASSERT_TRUE(stream);
    const int room = ::fcntl(ends.write.get(), F_GETPIPE_SZ);
    const auto length = static_cast<std::size_t>(room) / 4;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(stream->write_lines({line_of(i, length)}), Outcome::written);
    EXPECT_TRUE(stream->has_rest());
    EXPECT_EQ(stream->skipped(), 0U);
    std::string text = read_now(ends.read);
    EXPECT_EQ(stream->write_rest(), Outcome::written);
    text += read_now(ends.read);
    expect_whole_lines(text, length);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
}

TEST_F(Stream, LinesAreSkippedIfTooManyWait) {
    const Ends ends = make_pipe();
    auto stream = LineStream::open(ends.write.get());
    ASSERT_TRUE(stream);
    const std::string line(std::size_t{1} << 21, 'x');  // larger than the pipe and than what may wait
    EXPECT_EQ(stream->write_lines({line}), Outcome::written);
    EXPECT_EQ(stream->write_lines({"lost"}), Outcome::skipped);
    EXPECT_EQ(stream->skipped(), 1U);
}

TEST_F(Stream, FinishGivesUpInTime) {
    const Ends ends = make_pipe();
    auto stream = LineStream::open(ends.write.get());
    ASSERT_TRUE(stream);
    EXPECT_EQ(stream->write_tick({std::string(4000000, 'x')}), Outcome::written);  // begun
    stream->finish(Seconds{0.05});
    EXPECT_EQ(stream->write_tick({"y"}), Outcome::skipped);
}

TEST_F(Stream, AReaderThatIsGoneIsReported) {
    for (auto* make : {make_pipe, make_socket_pair}) {
        Ends ends = make();
        auto stream = LineStream::open(ends.write.get());
        ASSERT_TRUE(stream);
        EXPECT_EQ(stream->write_tick({"x"}), Outcome::written);
        ends.read = Fd();
        EXPECT_EQ(stream->write_tick({"x"}), Outcome::closed);
        EXPECT_EQ(stream->write_tick({"x"}), Outcome::closed);
        EXPECT_EQ(stream->skipped(), 0U);
    }
}

TEST_F(Stream, AReaderThatWasGoneFromTheStartIsReported) {
    Ends ends = make_pipe();
    ends.read = Fd();
    auto stream = LineStream::open(ends.write.get());
    ASSERT_TRUE(stream);
    EXPECT_EQ(stream->write_tick({"x"}), Outcome::closed);
}

TEST_F(Stream, AFileKeepsItsOffsetAndGetsEveryTick) {
    const std::string path = testing::TempDir() + "memscope_stream_" + std::to_string(::getpid());
    const Fd file(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_EQ(::write(file.get(), "before\n", 7), 7);
    auto stream = LineStream::open(file.get());
    ASSERT_TRUE(stream);
    EXPECT_EQ(stream->write_tick({"a", "b"}), Outcome::written);
    ASSERT_EQ(::write(file.get(), "after\n", 6), 6);  // the shell writes to the same open file
    EXPECT_EQ(*read_file(path), "before\na\nb\nafter\n");
    ::unlink(path.c_str());
}

TEST_F(Stream, AFullDiskSkipsTicksAndAPartialLineIsCompletedLater) {
    // A file size limit stands in for the full disk: the kernel writes what fits, then refuses.
    std::signal(SIGXFSZ, SIG_IGN);
    const std::string path = testing::TempDir() + "memscope_full_" + std::to_string(::getpid());
    const Fd file(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    auto stream = LineStream::open(file.get());
    ASSERT_TRUE(stream);
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    const rlimit small{6, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Outcome begun = stream->write_tick({"0123456789"});
    const Outcome full = stream->write_tick({"lost"});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
    EXPECT_EQ(begun, Outcome::written);
    EXPECT_EQ(full, Outcome::skipped);
    EXPECT_EQ(stream->skipped(), 1U);
    EXPECT_EQ(stream->write_tick({"later"}), Outcome::written);
    EXPECT_EQ(*read_file(path), "0123456789\nlater\n");
    ::unlink(path.c_str());
}

TEST_F(Stream, ADeviceThatIsAlwaysFullSkips) {
    const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    auto stream = LineStream::open(full.get());
    ASSERT_TRUE(stream);
    EXPECT_EQ(stream->write_tick({"x"}), Outcome::skipped);
    EXPECT_EQ(stream->skipped(), 1U);
}

TEST_F(Stream, ADescriptorThatIsClosedOrReadOnlyIsRefused) {
    EXPECT_FALSE(LineStream::open(-1));
    const Fd readable(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_FALSE(LineStream::open(readable.get()));
}

TEST(LatestSnapshot, ASlowReaderKeepsTheSnapshotThatItHas) {
    LatestSnapshot latest_snapshot;
    EXPECT_EQ(latest_snapshot.get(), nullptr);
    latest_snapshot.publish(std::make_shared<const Snapshot>(Snapshot{.time = 1}));
    const SnapshotPtr held = latest_snapshot.get();
    latest_snapshot.publish(std::make_shared<const Snapshot>(Snapshot{.time = 2}));
    EXPECT_EQ(held->time, 1);
    EXPECT_EQ(latest_snapshot.get()->time, 2);
}

}  // namespace line_stream_test
}  // namespace memscope
