#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "demo/scenario.h"
#include "watch/targets/own_cgroup.h"

namespace memscope {

constexpr Bytes kChunk{4ULL << 20};

// Resident memory of the calling process, kept at a wanted size. It consists of whole chunks, which are mapped and
// touched, and later unmapped.
class ResidentMemory {
  public:
    ResidentMemory() = default;
    ResidentMemory(const ResidentMemory&) = delete;
    ResidentMemory& operator=(const ResidentMemory&) = delete;
    ~ResidentMemory() { follow({}); }

    void follow(Bytes wanted);  // rounds to whole chunks; holds less if the machine has no more memory
    Bytes held() const { return {chunks_.size() * kChunk.n}; }

  private:
    std::vector<std::span<char>> chunks_;
};

// Takes memory from malloc and frees nine tenths of it, in an order that leaves malloc nothing to give back: each block
// is cut to a tenth of its size, so that a small live piece is followed by a free one that is too small for the next
// block.
class FragmentedHeap {
  public:
    FragmentedHeap() = default;
    FragmentedHeap(const FragmentedHeap&) = delete;
    FragmentedHeap& operator=(const FragmentedHeap&) = delete;
    ~FragmentedHeap();

    void follow(Bytes wanted);  // rounds to whole blocks; never shrinks
    Bytes taken() const { return {pieces_.size() * kBlock}; }
    Bytes live() const { return {pieces_.size() * kLive}; }

  private:
    static constexpr std::size_t kBlock = 40'000;
    static constexpr std::size_t kLive = kBlock / 10;
    std::vector<void*> pieces_;
};

// Memory that is allocated before a fork, so that the children share it. Never freed before the process ends.
class Dataset {
  public:
    Dataset() = default;
    static Dataset build(Bytes size);  // empty if there is not enough memory

    Bytes size() const { return {bytes_.size()}; }
    // Writes one byte into each page that starts in the first `wanted` bytes and was not written before. If the page is
    // shared, the kernel then copies it.
    void rewrite(Bytes wanted);

  private:
    std::span<char> bytes_{};
    std::size_t written_ = 0;  // offset of the next page to write
};

// The scenario's clock, shared with every process that is forked later. It is 0 until begin(), which is called at the
// first tick of the watcher, so that the watcher sees the whole scenario. It runs faster than real time if the demo is
// shortened. It stops at the end of the scenario.
class StageClock {
  public:
    static Result<StageClock> make(double speed);  // scenario seconds per real second
    // A file with the time of begin() in nanoseconds of the boot clock, as 8 bytes. 0: not begun yet.
    int descriptor() const { return file_.get(); }

    void begin(std::uint64_t boot_ns) { *began_ns_ = boot_ns; }  // not 0
    Seconds at(std::uint64_t boot_ns) const;
    double speed() const { return speed_; }

  private:
    using Shared = std::atomic<std::uint64_t>;
    struct Unmap {
        void operator()(Shared* page) const;
    };

    StageClock(Fd file, std::unique_ptr<Shared, Unmap> page, double speed)
        : file_(std::move(file)), began_ns_(std::move(page)), speed_(speed) {}

    Fd file_;
    std::unique_ptr<Shared, Unmap> began_ns_;  // 0: not begun yet
    double speed_;
};

// The processes of a scenario. The first process dies with memscope, and each of the others ends after its parent, so
// that no process is left after a kill -9.
class DemoTree {
  public:
    // Starts native processes for the actors. Returns when each process runs, has its name and holds its initial
    // memory.
    static Result<DemoTree> start(const Actor& top, OwnCgroup& cgroup, const StageClock& clock);
    // `become_first` runs in the first process, inside the cgroup, and does not return. start() returns when `reports`
    // bytes were written to the file descriptor `ready`.
    static Result<DemoTree> start(OwnCgroup& cgroup, std::size_t reports, Seconds patience,
                                  const std::function<void(int ready)>& become_first);
    DemoTree(DemoTree&& other) noexcept : top_(std::exchange(other.top_, 0)) {}
    DemoTree& operator=(DemoTree&&) = delete;
    ~DemoTree();  // kills and reaps all processes

  private:
    explicit DemoTree(pid_t top) : top_(top) {}
    pid_t top_ = 0;  // 0: moved from
};

}  // namespace memscope
