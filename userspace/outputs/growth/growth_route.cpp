#include "outputs/growth/growth_route.h"

#include <algorithm>

#include "base/text.h"
#include "outputs/growth/growth_folded.h"
#include "outputs/growth/growth_json.h"
#include "outputs/growth/growth_pprof.h"
#include "outputs/growth/growth_text.h"

namespace memscope {
namespace {

HttpResponse as_json(const GrowthReport& report, const HttpRequest&) {
    return {.content_type = "application/json", .body = growth_json(report) + "\n"};
}

HttpResponse as_text(const GrowthReport& report, const HttpRequest& request) {
    TextLook look{.colour = request.query("colour") == "1"};
    if (const auto columns = parse_number(request.query("columns").value_or(""))) look.columns = *columns;
    return {.body = growth_text(report, look)};
}

HttpResponse as_folded(const GrowthReport& report, const HttpRequest&) {
    FoldedGrowth folded = growth_folded(report);
    return {.body = std::move(folded.text), .note = std::move(folded.note)};
}

HttpResponse as_pprof(const GrowthReport& report, const HttpRequest&) {
    return {.content_type = "application/octet-stream", .body = growth_pprof(report)};
}

struct Format {
    std::string_view name;
    HttpResponse (*render)(const GrowthReport&, const HttpRequest&);
};
constexpr Format kFormats[] = {{"json", as_json}, {"text", as_text}, {"folded", as_folded}, {"pprof", as_pprof}};

}  // namespace

HttpResponse answer_growth(const Snapshot& snapshot, const TargetInfo& target, const GrowthSource& source,
                           const HttpRequest& request) {
    const std::string wanted = request.query("format").value_or("json");
    const auto* format = std::ranges::find(kFormats, wanted, &Format::name);
    if (format == std::end(kFormats))
        return {.status = 400, .body = "no such format: " + shortened(printable(wanted)) + "\n"};
    GrowthReport report{.time = snapshot.time, .target = target};
    if (const auto top = request.query("top")) {
        const auto number = parse_number(*top);
        if (!number) return {.status = 400, .body = "top must be a number\n"};
        report.top = number;
    }
    GrowthRequest asked;
    if (wanted == "text") asked.since = GrowthRequest::Since::warmup;
    if (const auto since = request.query("since"))
        if (const auto read = parse_since(*since, asked); !read)
            return {.status = 400, .body = "since: " + read.error().message() + "\n"};
    if (const auto at = request.query("at"))
        if (const auto read = parse_at(*at, asked); !read)
            return {.status = 400, .body = "at: " + read.error().message() + "\n"};
    report.stacks = request.query("stacks") == "1";
    if (!source) return {.status = 404, .body = std::string(kGrowthNotRecorded) + "\n"};
    auto growth = source(target.name, asked);
    if (!growth) return {.status = 404, .body = "no such target: " + shortened(printable(target.name)) + "\n"};
    report.growth = *std::move(growth);
    return format->render(report, request);
}

}  // namespace memscope
