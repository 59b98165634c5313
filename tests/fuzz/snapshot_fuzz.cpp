// All outputs of a tick. Processes and targets can choose any names.
#include <nlohmann/json.hpp>

#include "analysis/roles/role_totals.h"
#include "base/text.h"
#include "fuzz.h"
#include "outputs/json/tick_json.h"
#include "outputs/metrics/metric_table.h"
#include "outputs/text/notices.h"
#include "outputs/text/status_text.h"
#include "outputs/text/text_layout.h"

namespace memscope::fuzz {
namespace {

Process any_process(Input& input) {
    Process process;
    process.task.id = {input.number() % 16, input.number<std::uint64_t>()};
    process.task.parent = input.number() % 16;
    process.task.comm = std::string(input.take(15));
    const auto size = [&] { return Bytes{input.number<std::uint64_t>() >> (input.number() % 64U)}; };
    if (input.flag()) process.task.memory = AddressSpace{size(), size(), size(), size(), size(), size()};
    process.task.threads = input.number<std::uint32_t>();
    process.role = kRoles[input.number() % std::size(kRoles)];
    if (input.flag()) process.rank = input.number<int>();
    process.start_time = input.number<double>();
    process.command = std::make_shared<const std::string>(input.text());
    return process;
}

TargetSnapshot any_target(Input& input) {
    TargetSnapshot target;
    target.info.name = input.text();
    target.up = !input.flag();
    target.memory.usage = Bytes{input.number<std::uint64_t>()};
    target.memory.unreclaimable = Bytes{input.number<std::uint64_t>()};
    if (input.flag()) target.memory.limit = target.memory.usage;
    if (input.flag())
        target.memory.effective = EffectiveLimit{input.text(), target.memory.usage, Bytes{input.number()}};
    if (input.flag()) target.memory.events = MemoryEvents{.high = input.number(), .oom_kill = input.number()};
    if (input.flag()) target.memory.pressure = Pressure{.some_avg10 = input.number<double>(), .full_avg10 = 0.5};
    if (input.flag()) target.shm = ShmUsage{Bytes{input.number()}, Bytes{input.number()}};
    for (std::size_t n = input.number() % 32; n > 0; --n) target.processes.push_back(any_process(input));
    target.roles = sum_by_role(target.processes);
    for (const auto& [key, totals] : target.roles) target.counters[key].starts = totals.processes;
    return target;
}

void check(const Snapshot& snapshot, const TargetSnapshot& target) {
    const std::string json = tick_json(snapshot, target);
    const auto tick = nlohmann::json::parse(json, nullptr, false);  // not the library of the writer; checks UTF-8
    require(tick.is_object(), "a tick is JSON", json);
    require(json.find('\n') == std::string::npos, "a tick is one line", json);
    require(tick["processes"].size() == target.processes.size(), "a tick has every process", json);

    const std::string text = status_text(snapshot, target, false);
    require(is_clean(text, '\n'), "the status steers no terminal", text);
    for_each_line(text, [&](std::string_view line) { require(display_width(line) <= 80, "80 columns", line); });
}

}  // namespace

void one(std::string_view bytes) {
    Input input(bytes);
    Snapshot before, now;
    now.time = input.number<double>();
    before.targets = {any_target(input)};
    now.targets = {any_target(input), any_target(input)};
    now.self.dropped = {{"ring_full", input.number()}};
    for (const TargetSnapshot& target : now.targets) check(now, target);
    for (const std::string& line : NoticeWriter().write(&before, now))
        require(is_clean(line), "a notice is one clean line", line);
    const std::string metrics = render_prometheus(now);
    require(is_utf8(metrics) && metrics.ends_with('\n'), "metrics are UTF-8", metrics);
    for_each_line(metrics, [&](std::string_view line) {
        require(line.starts_with("# ") || line.starts_with("memscope_") || line.starts_with("process_"), "a sample",
                line);
    });
}

}  // namespace memscope::fuzz
