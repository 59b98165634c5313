#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/gpu/gpu.h"

namespace memscope {

// Reads the GPUs from the driver periodically, on its own thread, because a call into the driver can take seconds or
// never return. No other thread waits for it. If the thread hangs when the poller is destroyed, it is abandoned
// together with the memory that it uses.
class NvmlPoller {
  public:
    using Read = std::function<std::vector<GpuDevice>()>;
    // Begins a session with the driver. The session ends when the returned function is destroyed.
    using Open = std::function<Result<Read>()>;

    // The poller calls Open and Read on its own thread, which has the privileges of the thread that makes the poller.
    // `interval`: time between two ticks. The driver is read at most once a second, and less often if a read is
    // expensive.
    NvmlPoller(Open open, Seconds interval);
    NvmlPoller(const NvmlPoller&) = delete;
    NvmlPoller& operator=(const NvmlPoller&) = delete;
    ~NvmlPoller();

    struct Sample {
        std::vector<GpuDevice> devices{};  // without their values if the sample is stale
        std::uint64_t began_ns = 0;        // boot clock: nothing in the sample is older
        std::uint64_t taken_ns = 0;        // boot clock: nothing in the sample is newer; 0: there is no sample yet
        Seconds age{};
        Seconds cost{};     // CPU time of the read
        Seconds pause{};    // until the next read
        std::string why{};  // why there is no sample, or no new one
    };
    Sample latest(std::uint64_t now_ns) const;
    // The first sample that was begun and finished between the two times. If there is none: the latest sample that was
    // begun before `from_ns`, with its age at `from_ns`.
    Sample between(std::uint64_t from_ns, std::uint64_t to_ns) const;
    // Requests a read at once, or as soon as the rate limit of requested reads allows.
    void ask();
    // Waits at most `most` for the first sample or the first failure. False: there was neither.
    bool wait_for_first(Seconds most) const;

  private:
    struct Shared;  // owned by the thread and by this object, because either can end first
    std::shared_ptr<Shared> shared_;
};

// Time to wait after a read that took `cpu`, so that all reads together take only a small part of a core.
Seconds gpu_poll_pause(Seconds interval, Seconds cpu);

// The device without its values. Counters stay, because they continue when the device answers again.
GpuDevice without_values(GpuDevice device, std::string trouble);

}  // namespace memscope
