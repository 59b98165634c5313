#include "watch/gpu_poller.h"

#include <algorithm>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <thread>

#include "watch/clock.h"

namespace memscope {
namespace {

constexpr Seconds kShortestPause{1};
constexpr Seconds kLongestPause{10};
constexpr double kMostOfACore = 0.005;
constexpr Seconds kStale{10};        // beyond the time of the next read
constexpr Seconds kTryAgain{15};     // a driver that did not answer may be loaded later
constexpr Seconds kLastChance{0.5};  // for a read that is under way, at the end

}  // namespace

struct GpuPoller::Shared {
    std::mutex mutex{};
    std::condition_variable changed{};
    bool stop = false;
    bool ended = false;  // the thread has let go of the driver
    bool tried = false;
    Sample latest{};

    // False: it is time to stop.
    bool pause(Seconds length) {
        std::unique_lock lock(mutex);
        return !changed.wait_for(lock, length, [this] { return stop; });
    }

    void fail(std::string why) {
        const std::lock_guard lock(mutex);
        latest.why = std::move(why);
        tried = true;
        changed.notify_all();
    }

    void publish(Sample sample) {
        const std::lock_guard lock(mutex);
        latest = std::move(sample);
        tried = true;
        changed.notify_all();
    }

    void poll(const Open& open, Seconds interval) {
        bool going = true;
        while (going) {
            auto read = open();
            if (!read) {
                fail(read.error().message());
                going = pause(kTryAgain);
                continue;
            }
            while (going) {
                const Seconds before = thread_cpu_time();
                Sample sample{.devices = (*read)(), .taken_ns = read_clock().boot_ns};
                sample.cost = thread_cpu_time() - before;
                const Seconds until_next = sample.pause = gpu_poll_pause(interval, sample.cost);
                publish(std::move(sample));
                going = pause(until_next);
            }
        }
    }
};

Seconds gpu_poll_pause(Seconds interval, Seconds cpu) {
    const Seconds usual = std::clamp(interval, kShortestPause, kLongestPause);
    return std::clamp(cpu / kMostOfACore, usual, kLongestPause);
}

GpuDevice without_values(GpuDevice device, std::string trouble) {
    device.used.reset();
    device.total.reset();
    device.utilization.reset();
    device.holders.clear();
    device.knows_holders = false;
    device.trouble = std::move(trouble);
    return device;
}

GpuPoller::GpuPoller(Open open, Seconds interval) : shared_(std::make_shared<Shared>()) {
    std::thread([shared = shared_, open = std::move(open), interval] {
        shared->poll(open, interval);
        const std::lock_guard lock(shared->mutex);
        shared->ended = true;
        shared->changed.notify_all();
    }).detach();
}

GpuPoller::~GpuPoller() {
    std::unique_lock lock(shared_->mutex);
    shared_->stop = true;
    shared_->changed.notify_all();
    shared_->changed.wait_for(lock, kLastChance, [this] { return shared_->ended; });
}

GpuPoller::Sample GpuPoller::latest(std::uint64_t now_ns) const {
    Sample sample;
    {
        const std::lock_guard lock(shared_->mutex);
        sample = shared_->latest;
    }
    if (sample.taken_ns == 0) return sample;
    sample.age = Seconds(now_ns > sample.taken_ns ? static_cast<double>(now_ns - sample.taken_ns) * 1e-9 : 0);
    if (sample.age <= sample.pause + kStale) return sample;
    sample.why = fmt::format("the driver has not answered for {}", human_duration(sample.age));
    for (GpuDevice& device : sample.devices) device = without_values(std::move(device), sample.why);
    return sample;
}

bool GpuPoller::wait_for_first(Seconds most) const {
    std::unique_lock lock(shared_->mutex);
    return shared_->changed.wait_for(lock, most, [this] { return shared_->tried; });
}

}  // namespace memscope
