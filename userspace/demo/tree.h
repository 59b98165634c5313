#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "demo/scenario.h"
#include "watch/targets/own_cgroup.h"

namespace memscope {

constexpr Bytes kChunk{4ULL << 20};

// Memory of the calling process that is really resident, kept at the size one wants: whole chunks, each mapped and
// touched, and unmapped again when it is to go.
class ResidentMemory {
  public:
    ResidentMemory() = default;
    ResidentMemory(const ResidentMemory&) = delete;
    ResidentMemory& operator=(const ResidentMemory&) = delete;
    ~ResidentMemory() { follow({}); }

    void follow(Bytes wanted);  // to the nearest chunk; as far as it gets where the machine gives no more
    Bytes held() const { return {chunks_.size() * kChunk.n}; }

  private:
    std::vector<std::span<char>> chunks_;
};

// Memory that is there before a fork, so that the children share it. Never given back: it ends with the process.
class Dataset {
  public:
    Dataset() = default;
    static Dataset build(Bytes size);  // empty where the machine gives no memory

    Bytes size() const { return {bytes_.size()}; }
    // Writes one byte into each page that starts in the first `wanted` bytes and was not written before: the kernel
    // then copies a page that is shared.
    void rewrite(Bytes wanted);

  private:
    std::span<char> bytes_{};
    std::size_t written_ = 0;  // where the next page to be written starts
};

// The scenario's clock, shared with every process that is forked after it was made. It stands at 0 until it is begun,
// which is when the watcher has its first look: nothing of the story is missed while it starts. Where the demo is
// shortened it runs faster than real time. It stops at the end of the scenario.
class StageClock {
  public:
    static Result<StageClock> make(double speed);  // seconds of the scenario in a real one

    void begin(std::uint64_t boot_ns) { *began_ns_ = boot_ns; }  // not 0
    Seconds at(std::uint64_t boot_ns) const;
    double speed() const { return speed_; }

  private:
    using Shared = std::atomic<std::uint64_t>;
    struct Unmap {
        void operator()(Shared* page) const;
    };

    StageClock(std::unique_ptr<Shared, Unmap> page, double speed) : began_ns_(std::move(page)), speed_(speed) {}

    std::unique_ptr<Shared, Unmap> began_ns_;  // 0: not yet
    double speed_;
};

// The processes of a scenario. Each dies with the one that made it, the first with us: nothing outlives a kill -9.
class DemoTree {
  public:
    // Returns when every process is there, has its name and holds what it holds at the start.
    static Result<DemoTree> start(const Actor& top, OwnCgroup& cgroup, const StageClock& clock);
    DemoTree(DemoTree&& other) noexcept : top_(std::exchange(other.top_, 0)) {}
    DemoTree& operator=(DemoTree&&) = delete;
    ~DemoTree();  // kills and reaps them all

  private:
    explicit DemoTree(pid_t top) : top_(top) {}
    pid_t top_ = 0;  // 0: moved away
};

}  // namespace memscope
