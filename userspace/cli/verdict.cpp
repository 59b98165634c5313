#include "cli/verdict.h"

#include <algorithm>

#include "outputs/verdict_json.h"
#include "outputs/verdict_text.h"
#include "sources/series_csv.h"

namespace memscope {

Result<VerdictAnswer> judge_file(const VerdictOptions& options) {
    const auto series = read_series_csv(options.file);
    if (!series) return series.error();
    const Judgement judgement = judge(*series, {.warmup = options.warmup});
    return VerdictAnswer{options.json ? verdict_json(judgement, series->began(), options.limit) + "\n"
                                      : verdict_text(judgement, series->began(), options.limit),
                         std::ranges::find(options.fail_on, judgement.verdict) != options.fail_on.end()};
}

}  // namespace memscope
