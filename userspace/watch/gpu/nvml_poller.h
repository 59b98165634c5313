#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/gpu/gpu.h"

namespace memscope {

// Asks the driver for its GPUs now and then, on a thread of its own: a call into a driver may take seconds, or never
// return. Nobody waits for it: at the end the thread is left behind if it hangs, with all it uses.
class NvmlPoller {
  public:
    using Read = std::function<std::vector<GpuDevice>()>;
    using Open =
        std::function<Result<Read>()>;  // begins a session with the driver; what it returns ends it when it goes

    // Both are called on the thread, which keeps the privileges of who makes the poller. `interval` is that of the
    // ticks: the driver is asked no more often than once a second, and less often where it costs much.
    NvmlPoller(Open open, Seconds interval);
    NvmlPoller(const NvmlPoller&) = delete;
    NvmlPoller& operator=(const NvmlPoller&) = delete;
    ~NvmlPoller();

    struct Sample {
        std::vector<GpuDevice> devices{};  // of an old sample: what they are, without their values
        std::uint64_t began_ns = 0;        // boot clock: nothing in the sample is older
        std::uint64_t taken_ns = 0;        // boot clock: nothing in the sample is newer; 0: there is no sample yet
        Seconds age{};
        Seconds cost{};     // CPU time of it
        Seconds pause{};    // until the next one
        std::string why{};  // there is none, or no new one
    };
    Sample latest(std::uint64_t now_ns) const;
    // The first sample that was begun and finished between two moments; where there is none, the latest of those begun
    // before. Its age is that at `from_ns`.
    Sample between(std::uint64_t from_ns, std::uint64_t to_ns) const;
    // Asks the driver at once, not only when the next poll is due; as soon as the rate limit allows if that was asked
    // for a moment ago.
    void ask();
    // Until the first sample or the first failure; false: neither within this time.
    bool wait_for_first(Seconds most) const;

  private:
    struct Shared;  // by the thread and by this object, whichever lives longer
    std::shared_ptr<Shared> shared_;
};

// How long to wait after a read that took `cpu`, so that all of them take no more than a small part of a core.
Seconds gpu_poll_pause(Seconds interval, Seconds cpu);

// What a device is, without what it holds. Counters stay: they count on when it answers again.
GpuDevice without_values(GpuDevice device, std::string trouble);

}  // namespace memscope
