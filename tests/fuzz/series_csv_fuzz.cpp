// A recorded series with any content: read, judged, and printed in every format.
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/verdict/forecast.h"
#include "analysis/verdict/judge.h"
#include "base/text.h"
#include "cli/series/plain_series.h"
#include "fuzz.h"
#include "outputs/json/tick_json.h"
#include "outputs/text/verdict_text.h"

namespace memscope::fuzz {
namespace {

void check(const Judgement& judgement, const Series& series) {
    require(judgement.confidence >= 0 && judgement.confidence <= 1, "confidence is a ratio");
    require(judgement.until >= judgement.since, "time runs on");
    require(std::isfinite(judgement.floor_slope), "the slope is a number");
    require(judgement.floor <= series.peak(), "the floor is not above the peak");
    for (const auto& limit :
         {std::optional<Bytes>(), std::optional(series.peak()), std::optional(Bytes{1ULL << 45U})}) {
        const std::string json = verdict_json(judgement, series.began(), limit);
        require(nlohmann::json::parse(json, nullptr, false).is_object(), "a verdict is JSON", json);
        const std::string text = verdict_text(judgement, series.began(), limit);
        require(is_clean(text, '\n'), "the text steers no terminal", text);
        if (limit)
            if (const auto expected = forecast(judgement, *limit))
                require(expected->eta.count() >= 0 && expected->earliest <= expected->eta,
                        "what is to come is to come");
    }
}

}  // namespace

void one(std::string_view bytes) {
    Judge usual;
    Judge hasty({.warmup = Seconds(1)});
    PlainSeries csv([&](Seconds time, Bytes size) {
        usual.add(time, size);
        hasty.add(time, size);
    });
    bool right = true;
    for_each_line(bytes, [&](std::string_view line) { right = right && parsed(csv.add_line(line)).has_value(); });
    if (!right || !parsed(csv.finish())) return;
    check(usual.now(), usual.series());
    check(hasty.now(), hasty.series());
}

}  // namespace memscope::fuzz
