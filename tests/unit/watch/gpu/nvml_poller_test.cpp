#include "watch/gpu/nvml_poller.h"

#include <atomic>
#include <condition_variable>
#include <gmock/gmock.h>
#include <mutex>
#include <thread>

#include "watch/clock.h"

namespace memscope {
namespace nvml_poller_test {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Seconds kInterval{0.05};
constexpr Seconds kEnough{10};

GpuDevice device(std::uint64_t used) {
    GpuDevice gpu{.id = "GPU-00", .name = "Fake"};
    gpu.used = Bytes{used};
    gpu.free = Bytes{60};
    gpu.total = Bytes{100};
    gpu.utilization = 0.5;
    gpu.xid_errors = 2;
    gpu.holders = {{.pid = 7, .used = Bytes{used}}};
    gpu.knows_holders = true;
    return gpu;
}

// A driver that hangs as long as a test wants. Shared with its poller, which may outlive the test.
struct Driver {
    std::atomic<bool> hangs = false;
    std::atomic<int> sessions = 0;

    void read() {
        const std::lock_guard lock(mutex);
        begun_ns.push_back(read_clock().boot_ns);
        changed.notify_all();
    }
    // When each of the first `count` reads began; fewer if that takes too long.
    std::vector<std::uint64_t> first_reads(std::size_t count, Seconds most = kEnough) {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, most, [&] { return begun_ns.size() >= count; });
        return begun_ns;
    }

    std::mutex mutex{};
    std::condition_variable changed{};
    std::vector<std::uint64_t> begun_ns{};
};

NvmlPoller::Open open_driver(const std::shared_ptr<Driver>& driver) {
    return [driver]() -> Result<NvmlPoller::Read> {
        ++driver->sessions;
        const std::shared_ptr<void> session(nullptr, [driver](void*) { --driver->sessions; });
        return NvmlPoller::Read([driver, session] {
            while (driver->hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            driver->read();
            return std::vector{device(40)};
        });
    };
}

double seconds_of(const std::function<void()>& work) {
    const std::uint64_t before = read_clock().boot_ns;
    work();
    return static_cast<double>(read_clock().boot_ns - before) * 1e-9;
}

TEST(NvmlPoller, ReturnsTheLatestSampleAndItsAge) {
    const auto driver = std::make_shared<Driver>();
    const NvmlPoller poller(open_driver(driver), kInterval);
    ASSERT_TRUE(poller.wait_for_first(kEnough));
    const std::uint64_t now = read_clock().boot_ns;
    const auto sample = poller.latest(now + 3'000'000'000);
    ASSERT_THAT(sample.devices, SizeIs(1));
    EXPECT_EQ(sample.devices[0].used, Bytes{40});
    EXPECT_NEAR(sample.age.count(), 3, 0.5);
    EXPECT_EQ(sample.why, "");
}

TEST(NvmlPoller, AnOldSampleKeepsOnlyDevicesAndCounters) {
    const auto driver = std::make_shared<Driver>();
    const NvmlPoller poller(open_driver(driver), kInterval);
    ASSERT_TRUE(poller.wait_for_first(kEnough));
    driver->hangs = true;
    const auto sample = poller.latest(read_clock().boot_ns + 15'000'000'000);
    driver->hangs = false;
    ASSERT_THAT(sample.devices, SizeIs(1));
    const GpuDevice& gpu = sample.devices[0];
    EXPECT_EQ(gpu.id, "GPU-00");
    EXPECT_FALSE(gpu.used);
    EXPECT_FALSE(gpu.free);
    EXPECT_FALSE(gpu.total);
    EXPECT_FALSE(gpu.utilization);
    EXPECT_FALSE(gpu.knows_holders);
    EXPECT_THAT(gpu.holders, IsEmpty());
    EXPECT_EQ(gpu.xid_errors, 2U);
    EXPECT_THAT(gpu.trouble, HasSubstr("not answered for 15 s"));
}

TEST(NvmlPoller, ADriverThatHangsHoldsUpNeitherATickNorTheEnd) {
    const auto driver = std::make_shared<Driver>();
    driver->hangs = true;
    const double took = seconds_of([&] {
        const NvmlPoller poller(open_driver(driver), kInterval);
        EXPECT_FALSE(poller.wait_for_first(Seconds{0.1}));
        EXPECT_LT(seconds_of([&] { EXPECT_THAT(poller.latest(read_clock().boot_ns).devices, IsEmpty()); }), 0.05);
    });
    EXPECT_LT(took, 3);
    EXPECT_EQ(driver->sessions, 1) << "the thread was left behind, with what it uses";
    driver->hangs = false;  // and when the call returns after all, nothing is left
    for (int i = 0; i < 1000 && driver->sessions > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(driver->sessions, 0);
}

TEST(NvmlPoller, ASessionThatHangsAtItsStartDelaysNothing) {
    const auto hangs = std::make_shared<std::atomic<bool>>(true);
    const double took = seconds_of([&] {
        const NvmlPoller poller(
            [hangs]() -> Result<NvmlPoller::Read> {
                while (*hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                return plain_error("it was too late");
            },
            kInterval);
        EXPECT_FALSE(poller.wait_for_first(Seconds{0.1}));
    });
    *hangs = false;
    EXPECT_LT(took, 3);
}

TEST(NvmlPoller, EndsItsSessionAtOnceWhenNothingIsUnderWay) {
    const auto driver = std::make_shared<Driver>();
    for (int i = 0; i < 20; ++i) {
        auto poller = std::make_unique<NvmlPoller>(open_driver(driver), kInterval);
        ASSERT_TRUE(poller->wait_for_first(kEnough));
        EXPECT_LT(seconds_of([&] { poller.reset(); }), 0.4);
        EXPECT_EQ(driver->sessions, 0);
    }
}

TEST(NvmlPoller, AFailedSessionIsReportedAndShowsNothing) {
    const NvmlPoller poller([]() -> Result<NvmlPoller::Read> { return plain_error("the driver is not loaded"); },
                            kInterval);
    ASSERT_TRUE(poller.wait_for_first(kEnough));
    const auto sample = poller.latest(read_clock().boot_ns);
    EXPECT_THAT(sample.devices, IsEmpty());
    EXPECT_EQ(sample.taken_ns, 0U);
    EXPECT_EQ(sample.why, "the driver is not loaded");
}

TEST(NvmlPoller, PollsAtMostOnceASecond) {
    const auto driver = std::make_shared<Driver>();
    const NvmlPoller poller(open_driver(driver), kInterval);
    const auto reads = driver->first_reads(3);
    ASSERT_GE(reads.size(), 3U);
    for (std::size_t i = 1; i < reads.size(); ++i) EXPECT_GE(reads[i] - reads[i - 1], 1'000'000'000U) << i;
}

constexpr Seconds kSeldom{10};  // interval of a poller that must not read by itself while a test runs

// Until the poller has a sample that was begun after `since_ns`.
bool wait_for_sample(const NvmlPoller& poller, std::uint64_t since_ns) {
    for (int i = 0; i < 1000; ++i) {
        if (poller.latest(read_clock().boot_ns).began_ns > since_ns) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

TEST(NvmlPoller, ReadsAtOnceOnRequest) {
    const auto driver = std::make_shared<Driver>();
    NvmlPoller poller(open_driver(driver), kSeldom);
    ASSERT_TRUE(poller.wait_for_first(kEnough));
    const std::uint64_t before = read_clock().boot_ns;
    poller.ask();
    EXPECT_TRUE(wait_for_sample(poller, before)) << "the next poll is due in 10 s";
}

TEST(NvmlPoller, LimitsTheRateOfRequestedReads) {
    const auto driver = std::make_shared<Driver>();
    NvmlPoller poller(open_driver(driver), kSeldom);
    constexpr std::size_t kReads = 5;
    for (std::size_t count = 1; count <= kReads; ++count) {
        ASSERT_GE(driver->first_reads(count).size(), count);
        poller.ask();
    }
    const auto reads = driver->first_reads(kReads);
    for (std::size_t i = 1; i < kReads; ++i) EXPECT_GE(reads[i] - reads[i - 1], 50'000'000U) << i;
}

TEST(NvmlPoller, ReturnsTheSampleBetweenTwoTimes) {
    const auto driver = std::make_shared<Driver>();
    const std::uint64_t start = read_clock().boot_ns;  // its thread may read before the constructor returns
    NvmlPoller poller(open_driver(driver), kSeldom);
    ASSERT_TRUE(poller.wait_for_first(kEnough));
    const auto first = poller.latest(read_clock().boot_ns);
    const std::uint64_t failed = read_clock().boot_ns;
    EXPECT_EQ(poller.between(failed, failed + 1).taken_ns, first.taken_ns) << "the last before it";
    EXPECT_NEAR(poller.between(failed, failed + 1).age.count(), static_cast<double>(failed - first.taken_ns) * 1e-9,
                1e-6);
    poller.ask();
    ASSERT_TRUE(wait_for_sample(poller, failed));
    const auto second = poller.latest(read_clock().boot_ns);
    poller.ask();
    ASSERT_TRUE(wait_for_sample(poller, second.taken_ns));
    const std::uint64_t ended = read_clock().boot_ns;
    EXPECT_EQ(poller.between(failed, ended).taken_ns, second.taken_ns) << "the first after it, not the latest";
    EXPECT_EQ(poller.between(failed, second.taken_ns - 1).taken_ns, first.taken_ns) << "one that came too late";
    EXPECT_EQ(poller.between(start - 1, start).taken_ns, 0U) << "there is none";
    const auto old = poller.between(first.taken_ns + 100'000'000'000, first.taken_ns + 100'000'000'001);
    ASSERT_THAT(old.devices, SizeIs(1));
    EXPECT_FALSE(old.devices[0].free) << "too old to say anything";
}

TEST(GpuPollPause, IsTheTickIntervalUnlessReadingCostsTooMuch) {
    EXPECT_EQ(gpu_poll_pause(Seconds{0.05}, Seconds{0}), Seconds{1});
    EXPECT_EQ(gpu_poll_pause(Seconds{2}, Seconds{0.001}), Seconds{2});
    EXPECT_EQ(gpu_poll_pause(Seconds{1}, Seconds{0.02}), Seconds{4}) << "0.5 % of a core";
    EXPECT_EQ(gpu_poll_pause(Seconds{1}, Seconds{5}), Seconds{10});
    EXPECT_EQ(gpu_poll_pause(Seconds{3600}, Seconds{0}), Seconds{10});
}

}  // namespace nvml_poller_test
}  // namespace memscope
