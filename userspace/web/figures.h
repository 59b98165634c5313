#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/snapshot.h"
#include "web/columns.h"

namespace memscope::web {

// The figures of a tick that the page draws as curves.
struct Figures {
    struct Gpu {
        std::string number{};  // "0"; of a MIG device "0.1"
        std::string name{};    // "GPU 0 (NVIDIA H100)"
        GpuId id{};
        // The known sizes, by the last part of the id of their series: "used" and "total" of the device; "target":
        // memory of the target, as the driver reports it; "reserved": memory that CUDA calls of the target have
        // reserved; "tensors" of the target; "others": memory of other processes.
        std::vector<std::pair<const char*, Bytes>> sizes{};
    };
    double time = 0;  // seconds since 1970
    Bytes held{};     // judged memory
    Bytes usage{};
    std::optional<Bytes> floor{};
    std::optional<Bytes> limit{};
    MemoryByKind kinds{};
    std::vector<std::pair<std::string, Bytes>> roles{};  // "trainer 0"; own memory, so each page counts once
    std::vector<Gpu> gpus{};
    std::uint64_t processes = 0;
};
Figures figures_of(const Snapshot& snapshot, const TargetSnapshot& target);

std::vector<std::pair<const char*, Bytes>> by_kind(const MemoryByKind& kinds);  // "anon", ...

// The curves of a run. There are two tables, because the judged memory of all recorded ticks can be read at once, and
// the other figures need the ticks themselves, which take longer to read.
class RunCurves {
  public:
    void add_sample(double time, Bytes held, Bytes usage, std::uint64_t processes);
    void add_rest(const Figures& figures);
    void add(const Figures& figures) {
        add_sample(figures.time, figures.held, figures.usage, figures.processes);
        add_rest(figures);
    }
    // The bins of a recording, by name of the series: "target", "usage", "role trainer 0", "gpu GPU-...".
    void add_sample_bins(double began, const std::map<std::string, std::vector<RecordedBin>>& bins);
    void add_other_bins(double began, const std::map<std::string, std::vector<RecordedBin>>& bins);

    Thinned thinned(double from, double to, std::size_t width) const;

  private:
    static constexpr std::size_t kMostCells = 4'000'000;  // of each table; 24 bytes each

    Columns samples_{kMostCells};
    Columns rest_{kMostCells};
    std::map<GpuId, Figures::Gpu> gpus_{};  // the latest figures of each GPU
};

}  // namespace memscope::web
