#pragma once
#include "model/snapshot.h"
#include "outputs/growth/growth_report.h"
#include "outputs/http/http_message.h"

namespace memscope {

// /api/v1/growth: growth of one target. Query: `format` (json, text, folded, pprof), `top` (sites of each plane),
// `since` (start, warmup or a duration; warmup is the default of text, start of the others), `at` (now, peak), and for
// text `stacks`, `colour` and `columns`.
HttpResponse answer_growth(const Snapshot& snapshot, const TargetInfo& target, const GrowthSource& source,
                           const HttpRequest& request);

}  // namespace memscope
