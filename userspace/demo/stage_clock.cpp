#include "demo/stage_clock.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

#include "demo/scenario.h"

namespace memscope {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would not be shared between processes");

Result<StageClock> StageClock::make(double speed) {
    void* page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return system_error(errno, "map the clock of the demo");
    return StageClock(std::unique_ptr<Shared, Unmap>(new (page) Shared(0)), speed);
}

void StageClock::Unmap::operator()(Shared* page) const { ::munmap(page, sizeof(Shared)); }

Seconds StageClock::at(std::uint64_t boot_ns) const {
    const std::uint64_t began_ns = *began_ns_;
    if (began_ns == 0 || boot_ns <= began_ns) return {};
    return std::min(Seconds{static_cast<double>(boot_ns - began_ns) * 1e-9 * speed_}, kScenarioLength);
}

}  // namespace memscope
