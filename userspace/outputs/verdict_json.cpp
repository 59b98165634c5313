#include "outputs/verdict_json.h"

#include <cmath>

#include "analysis/explain.h"
#include "analysis/forecast.h"

namespace memscope {
namespace {

double rounded(double value) { return std::round(value * 1000) / 1000; }
std::optional<double> rounded(const std::optional<Seconds>& time) {
    return time ? std::optional(rounded(time->count())) : std::nullopt;
}

}  // namespace

void write_verdict(JsonWriter& json, const Judgement& judgement, const std::optional<Forecast>& expected,
                   const std::string& explanation) {
    const bool judged = judgement.verdict != Verdict::insufficient;
    json.field("verdict", word(judgement.verdict));
    json.field("confidence", rounded(judgement.confidence));
    json.field("floor_bytes", judgement.samples > 0 ? std::optional(judgement.floor) : std::nullopt);
    json.field("floor_slope_bytes_per_second", judged ? std::optional(rounded(judgement.floor_slope)) : std::nullopt);
    json.field("peak_bytes", judgement.samples > 0 ? std::optional(judgement.peak) : std::nullopt);
    if (judgement.spike)
        json.object("spike", [&] {
            json.field("height_bytes", judgement.spike->height);
            json.field("period_seconds", rounded(judgement.spike->period.count()));
        });
    else
        json.field("spike", nullptr);
    json.field("warmup_ended_seconds", rounded(judgement.warmup_ended));
    json.field("leak_started_seconds", rounded(judgement.leak_started));
    json.field("restarted_seconds", rounded(judgement.restarted));
    json.field("oom_eta_seconds", expected ? std::optional(rounded(expected->eta.count())) : std::nullopt);
    if (expected) {
        json.list("oom_eta_range_seconds", [&] {
            json.value(rounded(expected->earliest.count()));
            json.value(rounded(expected->latest));
        });
        json.field("oom_eta_basis", word(expected->basis));
    }
    json.field("explanation", explanation);
}

std::string verdict_json(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit) {
    JsonWriter json;
    const auto expected = limit ? forecast(judgement, *limit) : std::nullopt;
    json.object([&] { write_verdict(json, judgement, expected, explain(judgement, began, limit)); });
    return json.text();
}

}  // namespace memscope
