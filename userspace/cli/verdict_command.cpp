#include "cli/verdict_command.h"

#include <algorithm>

#include "analysis/verdict/judge.h"
#include "cli/series/series_input.h"
#include "outputs/json/tick_json.h"
#include "outputs/text/verdict_text.h"

namespace memscope {

Result<VerdictAnswer> judge_file(const VerdictOptions& options) {
    // Judges sample by sample, as a watcher does, so that the result is what a watcher would show at the last sample.
    Judge judge({.warmup = options.warmup});
    const auto read =
        read_series(options.file, options.choice, [&](Seconds time, Bytes bytes) { judge.add(time, bytes); });
    if (!read) return read.error();
    const Judgement judgement = judge.now();
    const Seconds began = judge.series().began();
    return VerdictAnswer{options.json ? verdict_json(judgement, began, options.limit) + "\n"
                                      : verdict_text(judgement, began, options.limit),
                         std::ranges::find(options.fail_on, judgement.verdict) != options.fail_on.end()};
}

}  // namespace memscope
