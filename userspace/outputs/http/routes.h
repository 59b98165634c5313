#pragma once
#include <functional>
#include <optional>
#include <string>

#include "outputs/growth/growth_report.h"
#include "outputs/heap/heap_route.h"
#include "outputs/http/http_message.h"
#include "outputs/http/latest_snapshot.h"

namespace memscope {

struct RouteOptions {
    bool status = false;    // also serve /api/v1, which names processes, commands and code
    GrowthSource growth{};  // for /api/v1/growth
    // For /-/healthy: a sentence if something is wrong with the watcher itself.
    std::function<std::optional<std::string>()> trouble{};
    HeapSource heap{};    // for /api/v1/heap, which reads processes: on the unix socket only
    bool record = false;  // also /api/v1/record, for programs of the same machine: its format is not for scripts
};

// Maps paths to responses. `latest_snapshot` must outlive the handler.
HttpHandler make_routes(const LatestSnapshot& latest_snapshot, RouteOptions options);

}  // namespace memscope
