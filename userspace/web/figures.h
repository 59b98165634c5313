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
        // Memory in use, of the device, of the target by the driver, reserved by its calls, in its tensors, of others.
        std::vector<std::pair<const char*, Bytes>> sizes{};  // by the last part of the id of the series; known ones
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

// The curves of a run. The judged memory is known for each recorded tick at once; the other figures need the tick
// itself, which takes longer to read. Hence there are two tables.
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
    std::map<GpuId, Figures::Gpu> gpus_{};  // the last one of each id
};

}  // namespace memscope::web
