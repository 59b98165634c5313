#include "web/figures.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/targets/target_judge.h"
#include "base/text.h"
#include "outputs/growth/growth_text.h"
#include "outputs/text/gpu_text.h"
#include "recording/recording_file.h"

namespace memscope::web {
namespace {

constexpr Seconds kBin = recording::RecordingFile::kBin;
const SeriesName kHeld{"held", "cannot be reclaimed", "main"};
const SeriesName kUsage{"usage", "in use, page cache included", "main"};
const SeriesName kFloor{"floor", "floor", "main"};
const SeriesName kLimit{"limit", "limit", "main"};
const SeriesName kProcesses{"processes", "processes", "count"};

Columns::Cell cell_of(double value) { return {value, value, value}; }
Columns::Cell cell_of(Bytes bytes) { return cell_of(static_cast<double>(bytes.n)); }

SeriesName role_name(const std::string& role) { return {"role:" + role, role, "role"}; }

SeriesName gpu_name(const Figures::Gpu& gpu, std::string_view what) {
    return {fmt::format("gpu:{}:{}", gpu.number, what), fmt::format("{} {}", gpu.name, what), "gpu"};
}

// Collects the values of a row.
class Row {
  public:
    explicit Row(Columns& columns) : columns_(columns) {}
    template <class Value>
    void add(const SeriesName& name, const Value& value) {
        if (const auto number = columns_.find_or_add(name)) values_.push_back({*number, cell_of(value)});
    }
    void finish(double time) { columns_.add(time, values_); }

  private:
    Columns& columns_;
    std::vector<Columns::Value> values_{};
};

// The memory that the processes of the target have reserved on a device, and the memory in their tensors.
GpuUse use_of(const std::optional<TargetGpu>& gpu, const GpuId& id) {
    GpuUse sum;
    if (!gpu) return sum;
    for (const auto& [role_device, use] : gpu->roles)
        if (role_device.second == id) sum += use;
    return sum;
}

Figures::Gpu gpu_figures(const GpuLine& line, const GpuDevice& device, const std::optional<TargetGpu>& target) {
    const auto space = line.name.rfind(' ');
    Figures::Gpu gpu{.number = valid_utf8(line.name.substr(space == std::string::npos ? 0 : space + 1)),
                     .name = line.model.empty() ? line.name : fmt::format("{} ({})", line.name, line.model),
                     .id = device.id};
    const auto add = [&](const char* what, const std::optional<Bytes>& bytes) {
        if (bytes) gpu.sizes.emplace_back(what, *bytes);
    };
    add("used", line.used);
    add("total", line.total);
    add("target", line.held);
    const GpuUse use = use_of(target, device.id);
    if (use.reserved_total().n > 0) add("reserved", use.reserved_total());
    add("tensors", use.tensors);
    add("others", line.others);
    return gpu;
}

// False: the driver does not report the memory of the target's processes. The bins of a recording then contain the
// memory that these processes have reserved.
bool knows_target(const Figures::Gpu& gpu) {
    return std::ranges::any_of(gpu.sizes, [](const auto& size) { return std::string_view(size.first) == "target"; });
}

}  // namespace

std::vector<std::pair<const char*, Bytes>> by_kind(const MemoryByKind& kinds) {
    return {{"anon", kinds.anon},
            {"shmem", kinds.shmem},
            {"file", kinds.file},
            {"kernel", kinds.kernel},
            {"other", kinds.other}};
}

Figures figures_of(const Snapshot& snapshot, const TargetSnapshot& target) {
    Figures figures{.time = snapshot.time,
                    .held = judged_memory(target),
                    .usage = target.memory.usage,
                    .kinds = target.memory.by_kind,
                    .processes = target.processes.size()};
    const ScopeVerdict* verdict = target.verdict();
    if (verdict && verdict->judgement.verdict != Verdict::insufficient) figures.floor = verdict->judgement.floor;
    if (target.memory.effective) figures.limit = target.memory.effective->limit;
    for (const auto& [key, totals] : target.roles) figures.roles.emplace_back(role_text(key), totals.own_anon());
    const std::vector<GpuLine> lines = gpu_lines(snapshot, target);
    for (std::size_t i = 0; i < std::min(lines.size(), snapshot.gpus.size()); ++i)
        figures.gpus.push_back(gpu_figures(lines[i], snapshot.gpus[i], target.gpu));
    return figures;
}

void RunCurves::add_sample(double time, Bytes held, Bytes usage, std::uint64_t processes) {
    Row row(samples_);
    row.add(kHeld, held);
    row.add(kUsage, usage);
    row.add(kProcesses, static_cast<double>(processes));
    row.finish(time);
}

void RunCurves::add_rest(const Figures& figures) {
    Row row(rest_);
    if (figures.floor) row.add(kFloor, *figures.floor);
    if (figures.limit) row.add(kLimit, *figures.limit);
    for (const auto& [kind, bytes] : by_kind(figures.kinds))
        row.add({std::string("kind:") + kind, kind, "kind"}, bytes);
    for (const auto& [role, bytes] : figures.roles) row.add(role_name(role), bytes);
    for (const Figures::Gpu& gpu : figures.gpus) {
        for (const auto& [what, bytes] : gpu.sizes) row.add(gpu_name(gpu, what), bytes);
        gpus_[gpu.id] = gpu;
    }
    row.finish(figures.time);
}

void RunCurves::add_sample_bins(double began, const std::map<std::string, std::vector<RecordedBin>>& bins) {
    const std::pair<const char*, const SeriesName&> known[] = {{"target", kHeld}, {"usage", kUsage}};
    for (const auto& [recorded, name] : known) {
        const auto found = bins.find(recorded);
        const auto number = samples_.find_or_add(name);
        if (found != bins.end() && number) samples_.add_ranges(*number, began, found->second, kBin);
    }
}

void RunCurves::add_other_bins(double began, const std::map<std::string, std::vector<RecordedBin>>& bins) {
    constexpr std::string_view kRole = "role ", kGpu = "gpu ";
    for (const auto& [recorded, ranges] : bins) {
        std::optional<SeriesName> name;
        if (recorded.starts_with(kRole)) name = role_name(recorded.substr(kRole.size()));
        if (recorded.starts_with(kGpu))
            if (const auto gpu = gpus_.find(recorded.substr(kGpu.size())); gpu != gpus_.end())
                name = gpu_name(gpu->second, knows_target(gpu->second) ? "target" : "reserved");
        if (!name) continue;
        if (const auto number = rest_.find_or_add(*name)) rest_.add_ranges(*number, began, ranges, kBin);
    }
}

Thinned RunCurves::thinned(double from, double to, std::size_t width) const {
    const Columns* const all[] = {&samples_, &rest_};
    return thin(all, from, to, width);
}

}  // namespace memscope::web
