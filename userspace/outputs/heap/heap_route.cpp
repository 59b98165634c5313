#include "outputs/heap/heap_route.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/heap/census_schedule.h"
#include "base/text.h"
#include "outputs/heap/heap_text.h"

namespace memscope {
namespace {

HttpResponse bad(const std::string& text) { return {.status = 400, .body = text + "\n"}; }

// A number of the query; none if it is not there.
Result<std::optional<std::uint64_t>> number_of(const HttpRequest& request, const std::string& name) {
    const auto text = request.query(name);
    if (!text) return std::optional<std::uint64_t>();
    const auto number = parse_number(*text);
    if (!number) return plain_error(name + " must be a number");
    return number;
}

}  // namespace

HttpResponse answer_heap(const TargetSnapshot& target, const HeapSource& source, const HttpRequest& request) {
    const std::string format = request.query("format").value_or("json");
    if (format != "json" && format != "text") return bad("no such format: " + shortened(printable(format)));
    const auto pid = number_of(request, "pid");
    if (!pid) return bad(pid.error().message());
    const auto top = number_of(request, "top");
    if (!top) return bad(top.error().message());
    const auto columns = number_of(request, "columns");
    if (!columns) return bad(columns.error().message());
    if (!target.up) return {.status = 404, .body = "the target has ended: it has no process\n"};
    const auto has = [&](const Process& process) { return static_cast<std::uint64_t>(process.task.id.pid) == **pid; };
    if (*pid && std::ranges::none_of(target.processes, has))
        return {.status = 404, .body = fmt::format("the target has no process {}\n", **pid)};
    const HeapAnswer answer = source(target, *pid ? std::optional(static_cast<pid_t>(**pid)) : std::optional<pid_t>());
    if (answer.processes.empty())
        return {.status = 503,
                .body = (answer.failed.empty() ? "the target has no process" : answer.failed.front().message()) + "\n"};
    HeapReport report{.target = target.info.name, .processes = answer.processes};
    for (const ProcessHeap& process : answer.processes) report.time = std::max(report.time, process.census.time);
    if (*top) report.top = **top;
    const std::size_t large = *pid ? 0 : count_large(target.processes);
    report.left_out = large - std::min(large, answer.processes.size() + answer.failed.size());
    report.type = request.query("type");
    std::string note;
    if (!answer.failed.empty()) note = "not read: " + printable(answer.failed.front().message());
    if (format == "json") return {.content_type = "application/json", .body = heap_json(report), .note = note};
    return {.body = heap_text(report, columns->value_or(0)) + (note.empty() ? "" : note + "\n"), .note = note};
}

}  // namespace memscope
