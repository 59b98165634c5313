#include "outputs/http/routes.h"

#include <algorithm>

#include "base/text.h"
#include "outputs/growth/growth_route.h"
#include "outputs/json/tick_json.h"
#include "outputs/metrics/metric_table.h"
#include "outputs/text/status_text.h"
#include "record/record.h"

namespace memscope {
namespace {

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kBinary = "application/octet-stream";

HttpResponse json(std::string text) { return {.content_type = kJson, .body = std::move(text) + "\n"}; }

// The target that a request names, or all targets if it names none. Empty if the named target is not watched.
// A name matches by its bytes, or as our own JSON spells it.
std::vector<const TargetSnapshot*> asked_for(const Snapshot& snapshot, const HttpRequest& request) {
    const auto name = request.query("target");
    std::vector<const TargetSnapshot*> found;
    for (const TargetSnapshot& target : snapshot.targets)
        if (!name || target.info.name == *name || valid_utf8(target.info.name) == *name) found.push_back(&target);
    if (name && found.size() > 1) found.resize(1);
    return found;
}

HttpResponse unknown_target(const HttpRequest& request) {
    return {.status = 404, .body = "no such target: " + shortened(printable(*request.query("target"))) + "\n"};
}

HttpResponse metrics(const SnapshotPtr& snapshot, const HttpRequest&, const RouteOptions&) {
    return {.content_type = kMetricsType, .body = render_prometheus(*snapshot)};
}

HttpResponse ready(const SnapshotPtr&, const HttpRequest&, const RouteOptions&) { return {.body = "ready\n"}; }

HttpResponse healthy(const RouteOptions& options) {
    const auto trouble = options.trouble ? options.trouble() : std::nullopt;
    if (trouble) return {.status = 503, .body = *trouble + "\n"};
    return {.body = "ok\n"};
}

HttpResponse targets(const SnapshotPtr& snapshot, const HttpRequest&, const RouteOptions&) {
    return json(targets_json(*snapshot));
}

// One target: its tick. Several and none named: a list of ticks.
HttpResponse status(const SnapshotPtr& snapshot, const HttpRequest& request, const RouteOptions&) {
    const auto asked = asked_for(*snapshot, request);
    if (request.query("target") && asked.empty()) return unknown_target(request);
    if (asked.size() == 1) return json(tick_json(*snapshot, *asked.front()));
    std::string list = "[";
    for (const TargetSnapshot* target : asked) list += (list.size() > 1 ? "," : "") + tick_json(*snapshot, *target);
    return json(list + "]");
}

HttpResponse text(const SnapshotPtr& snapshot, const HttpRequest& request, const RouteOptions&) {
    const auto asked = asked_for(*snapshot, request);
    if (request.query("target") && asked.empty()) return unknown_target(request);
    std::string all;
    for (const TargetSnapshot* target : asked)
        all += (all.empty() ? "" : "\n") + status_text(*snapshot, *target, false);
    return {.body = all};
}

// Answers later (HttpResponse::later), because symbols of native code may have to be loaded first.
HttpResponse growth(const SnapshotPtr& snapshot, const HttpRequest& request, const RouteOptions& options) {
    const auto asked = asked_for(*snapshot, request);
    if (asked.size() == 1)
        return {.later = [snapshot, target = asked.front()->info, source = options.growth, request] {
            return answer_growth(*snapshot, target, source, request);
        }};
    if (request.query("target")) return unknown_target(request);
    return {.status = 400, .body = "growth needs the name of one target: add target=NAME\n"};
}

// Answers later (HttpResponse::later), because the censuses take seconds to a minute.
HttpResponse heap(const SnapshotPtr& snapshot, const HttpRequest& request, const RouteOptions& options) {
    const auto asked = asked_for(*snapshot, request);
    if (asked.size() == 1)
        return {.later = [snapshot, target = asked.front(), source = options.heap,
                          request] { return answer_heap(*target, source, request); },
                .slow = true};
    if (request.query("target")) return unknown_target(request);
    return {.status = 400, .body = "heap needs the name of one target: add target=NAME\n"};
}

// A snapshot of one target as bytes (record/record.h), so that `memscope status` can show what the watcher shows.
HttpResponse target_record(const SnapshotPtr& snapshot, const HttpRequest& request, const RouteOptions&) {
    const auto asked = asked_for(*snapshot, request);
    if (asked.size() == 1) return {.content_type = kBinary, .body = encode_target(*snapshot, *asked.front())};
    if (request.query("target")) return unknown_target(request);
    return {.status = 400, .body = "a record needs the name of one target: add target=NAME\n"};
}

enum class Needs { nothing, status, heap, record };

struct Route {
    std::string_view path;
    Needs needs;
    HttpResponse (*answer)(const SnapshotPtr&, const HttpRequest&, const RouteOptions&);
};
constexpr Route kRoutes[] = {
    {"/metrics", Needs::nothing, metrics},     {"/-/ready", Needs::nothing, ready},
    {"/api/v1/status", Needs::status, status}, {"/api/v1/targets", Needs::status, targets},
    {"/api/v1/text", Needs::status, text},     {"/api/v1/growth", Needs::status, growth},
    {"/api/v1/heap", Needs::heap, heap},       {"/api/v1/record", Needs::record, target_record},
};

bool serves(const Route& route, const RouteOptions& options) {
    switch (route.needs) {
        case Needs::nothing:
            return true;
        case Needs::status:
            return options.status;
        case Needs::heap:
            return static_cast<bool>(options.heap);
        case Needs::record:
            return options.record;
    }
    return false;
}

}  // namespace

HttpHandler make_routes(const LatestSnapshot& latest_snapshot, RouteOptions options) {
    return [&latest_snapshot, options = std::move(options)](const HttpRequest& request) -> HttpResponse {
        if (request.path == "/-/healthy") return healthy(options);
        for (const Route& route : kRoutes) {
            if (route.path != request.path || !serves(route, options)) continue;
            const SnapshotPtr latest = latest_snapshot.get();
            if (!latest) return {.status = 503, .body = "no measurement yet\n"};
            return route.answer(latest, request, options);
        }
        return {.status = 404, .body = "not found: try /metrics\n"};
    };
}

}  // namespace memscope
