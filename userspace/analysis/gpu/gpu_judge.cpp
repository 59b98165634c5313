#include "analysis/gpu/gpu_judge.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/verdict/forecast.h"
#include "analysis/verdict/verdict_sentence.h"
#include "base/text.h"

namespace memscope {
namespace {

constexpr Seconds kForget = std::chrono::hours(1);  // a job may not use a GPU for a while

struct Sum {
    std::optional<Bytes> driver{};  // none: NVML reports no memory of the target's processes on this GPU
    Bytes calls{};
};

std::map<GpuId, Sum> sums_of(const TargetGpu& gpu) {
    std::map<GpuId, Sum> sums;
    for (const auto& [pid, held] : gpu.processes)
        for (const auto& [id, use] : held.devices) {
            Sum& sum = sums[id];
            // NVML lists a new process up to one poll after its first CUDA call. Until then the process has allocated
            // almost nothing, so the sum without it is a valid sample.
            if (use.used) sum.driver = sum.driver.value_or(Bytes{}) + *use.used;
            sum.calls += use.reserved_total();
        }
    return sums;
}

std::string name_of(const GpuId& id, const GpuDevice* device) {
    if (id.empty()) return "An unknown GPU";
    if (!device) return "GPU " + printable(id);
    const std::string which = device->part_of.empty() ? "" : fmt::format(", {}", printable(id));
    return fmt::format("GPU {} ({}{})", device->index, printable(device->name), which);
}

}  // namespace

void GpuJudge::add(Held& held, Seconds now, Bytes bytes) const {
    held.judge.add(now, bytes);
    held.latest = bytes;
    held.seen = now;
}

void GpuJudge::add(Seconds now, const TargetSnapshot& target) {
    const auto fresh = [&](Source source) { return Held{Judge({.warmup = warmup_}), source}; };
    if (target.gpu) {
        for (const auto& [id, sum] : sums_of(*target.gpu)) {
            if (!sum.driver && sum.calls.n == 0 && !gpus_.contains(id)) continue;
            Held& held = gpus_.try_emplace(id, fresh(sum.driver ? Source::driver : Source::calls)).first->second;
            if (sum.driver && held.source == Source::calls) held = fresh(Source::driver);
            if (held.source == Source::calls)
                add(held, now, sum.calls);
            else if (sum.driver)
                add(held, now, *sum.driver);
        }
        Bytes pinned;
        for (const auto& [key, use] : target.gpu->pinned) pinned += use.total();
        if (pinned.n > 0 && !pinned_) pinned_ = fresh(Source::calls);
        if (pinned_) add(*pinned_, now, pinned);
    }
    std::erase_if(gpus_, [&](const auto& gpu) { return now - gpu.second.seen >= kForget; });
    if (pinned_ && now - pinned_->seen >= kForget) pinned_.reset();
}

const Series* GpuJudge::series(const GpuId& gpu) const {
    const auto found = gpus_.find(gpu);
    return found == gpus_.end() ? nullptr : &found->second.judge.series();
}

std::vector<ScopeVerdict> GpuJudge::verdicts(Seconds now, Seconds to_wall, std::span<const GpuDevice> devices) const {
    std::vector<ScopeVerdict> all;
    const auto verdict_of = [&](VerdictScope scope, const Held& held) {
        return ScopeVerdict{.scope = scope,
                            .began = held.judge.series().began() + to_wall,
                            .judgement = moved(held.judge.latest(), to_wall)};
    };
    for (const auto& [id, held] : gpus_) {
        if (held.seen != now) continue;
        ScopeVerdict verdict = verdict_of(VerdictScope::gpu, held);
        verdict.gpu = id;
        const auto found = std::ranges::find(devices, id, &GpuDevice::id);
        const GpuDevice* device = found == devices.end() ? nullptr : &*found;
        std::optional<Bytes> limit;
        if (device && device->free) limit = held.latest + *device->free;
        if (limit) verdict.forecast = forecast_at(verdict.judgement, *limit, now + to_wall, held.latest);
        verdict.explanation = name_of(id, device) + ": " +
                              verdict_sentence(verdict.judgement, verdict.began,
                                               Circumstances{.limit = limit, .expected = verdict.forecast});
        if (verdict.forecast && device->used && device->total && *device->used > held.latest)
            verdict.explanation += fmt::format(" Other processes hold {} of its {}, contexts included.",
                                               human_size(*device->used - held.latest), human_size(*device->total));
        all.push_back(std::move(verdict));
    }
    if (pinned_ && pinned_->seen == now) {
        ScopeVerdict verdict = verdict_of(VerdictScope::pinned, *pinned_);
        verdict.explanation = "Pinned host memory: " + verdict_sentence(verdict.judgement, verdict.began);
        all.push_back(std::move(verdict));
    }
    return all;
}

}  // namespace memscope
