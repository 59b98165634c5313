#include "watch/gpu/nvml_poller.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <fmt/format.h>
#include <mutex>
#include <thread>

#include "watch/clock.h"

namespace memscope {
namespace {

using Clock = std::chrono::steady_clock;

// Rate limit of requested reads: the least time between two reads, and the largest part of a core, because a job can
// fail in a loop. If an allocation fails, PyTorch frees its cache and tries again before it gives up. The exit of the
// process then takes longer than kAskedEvery, so there is time for a read.
constexpr Seconds kAskedEvery{0.05};
constexpr double kMostOfACoreAsked = 0.05;
// More than the 100 samples that can be taken within MS_FAILURE_EXPLAINS_NS (5 s), the time for which a failed
// allocation explains an exit.
constexpr std::size_t kMostRecent = 128;
constexpr Seconds kShortestPause{1};
constexpr Seconds kLongestPause{10};
constexpr double kMostOfACore = 0.005;
constexpr Seconds kStale{10};        // a sample is stale so long after the next read was due
constexpr Seconds kTryAgain{15};     // a driver that did not answer may be loaded later
constexpr Seconds kLastChance{0.5};  // how long the destructor waits for a read that is under way

}  // namespace

struct NvmlPoller::Shared {
    std::mutex mutex{};
    std::condition_variable changed{};
    bool stop = false;
    bool ended = false;  // the thread does not use the driver any more
    bool tried = false;
    Sample latest{};
    std::deque<Sample> recent{};  // oldest first

    bool asked = false;

    // Waits until the next read is due or requested. `cost`: CPU time of the last read. False: the thread has to stop.
    bool pause(Seconds length, Seconds cost) {
        std::unique_lock lock(mutex);
        const auto in = [now = Clock::now()](Seconds time) {
            return now + std::chrono::duration_cast<Clock::duration>(time);
        };
        const auto due = in(length);
        const auto soonest = std::min(due, in(std::max(kAskedEvery, cost / kMostOfACoreAsked)));
        changed.wait_until(lock, due, [this] { return stop || asked; });
        changed.wait_until(lock, soonest, [this] { return stop; });
        asked = false;
        return !stop;
    }

    void fail(std::string why) {
        const std::lock_guard lock(mutex);
        latest.why = std::move(why);
        tried = true;
        changed.notify_all();
    }

    void publish(Sample sample) {
        const std::lock_guard lock(mutex);
        recent.push_back(sample);
        if (recent.size() > kMostRecent) recent.pop_front();
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
                going = pause(kTryAgain, {});
                continue;
            }
            while (going) {
                const Seconds before = thread_cpu_time();
                Sample sample{.began_ns = read_clock().boot_ns};
                sample.devices = (*read)();
                sample.taken_ns = read_clock().boot_ns;
                sample.cost = thread_cpu_time() - before;
                const Seconds cost = sample.cost;
                const Seconds until_next = sample.pause = gpu_poll_pause(interval, cost);
                publish(std::move(sample));
                going = pause(until_next, cost);
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
    device.free.reset();
    device.reserved.reset();
    device.total.reset();
    device.utilization.reset();
    device.holders.clear();
    device.knows_holders = false;
    device.trouble = std::move(trouble);
    return device;
}

NvmlPoller::NvmlPoller(Open open, Seconds interval) : shared_(std::make_shared<Shared>()) {
    std::thread([shared = shared_, open = std::move(open), interval] {
        shared->poll(open, interval);
        const std::lock_guard lock(shared->mutex);
        shared->ended = true;
        shared->changed.notify_all();
    }).detach();
}

NvmlPoller::~NvmlPoller() {
    std::unique_lock lock(shared_->mutex);
    shared_->stop = true;
    shared_->changed.notify_all();
    shared_->changed.wait_for(lock, kLastChance, [this] { return shared_->ended; });
}

namespace {

// The sample with its age at `now_ns`, and without values if it is stale.
NvmlPoller::Sample aged(NvmlPoller::Sample sample, std::uint64_t now_ns) {
    if (sample.taken_ns == 0) return sample;
    sample.age = Seconds(now_ns > sample.taken_ns ? static_cast<double>(now_ns - sample.taken_ns) * 1e-9 : 0);
    if (sample.age <= sample.pause + kStale) return sample;
    sample.why = fmt::format("the driver has not answered for {}", human_duration(sample.age));
    for (GpuDevice& device : sample.devices) device = without_values(std::move(device), sample.why);
    return sample;
}

}  // namespace

NvmlPoller::Sample NvmlPoller::latest(std::uint64_t now_ns) const {
    const std::lock_guard lock(shared_->mutex);
    return aged(shared_->latest, now_ns);
}

NvmlPoller::Sample NvmlPoller::between(std::uint64_t from_ns, std::uint64_t to_ns) const {
    const std::lock_guard lock(shared_->mutex);
    Sample before;
    for (const Sample& sample : shared_->recent) {
        if (sample.began_ns < from_ns)
            before = sample;
        else if (sample.taken_ns <= to_ns)
            return sample;
    }
    return aged(std::move(before), from_ns);
}

void NvmlPoller::ask() {
    const std::lock_guard lock(shared_->mutex);
    shared_->asked = true;
    shared_->changed.notify_all();
}

bool NvmlPoller::wait_for_first(Seconds most) const {
    std::unique_lock lock(shared_->mutex);
    return shared_->changed.wait_for(lock, most, [this] { return shared_->tried; });
}

}  // namespace memscope
