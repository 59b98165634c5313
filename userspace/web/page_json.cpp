#include "web/page_json.h"

#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "outputs/growth/growth_text.h"
#include "outputs/json/json_writer.h"

namespace memscope::web {
namespace {

std::optional<double> count_of(const std::optional<Seconds>& time) {
    return time ? std::optional(time->count()) : std::nullopt;
}

void write_summary(JsonWriter& json, const PageSummary& summary) {
    const auto& judgement = summary.judgement;
    const bool judged = judgement && judgement->verdict != Verdict::insufficient;
    json.object("summary", [&] {
        json.field("verdict", judgement ? std::optional(word(judgement->verdict)) : std::nullopt);
        json.field("confidence", judgement ? std::optional(judgement->confidence) : std::nullopt);
        json.field("sentence", summary.sentence);
        json.field("peak_bytes", summary.peak_time != 0 ? std::optional(summary.peak) : std::nullopt);
        json.field("peak_time", summary.peak_time != 0 ? std::optional(summary.peak_time) : std::nullopt);
        json.field("kernel_peak_bytes", summary.kernel_peak);
        json.field("limit_bytes", summary.limit);
        json.field("limit_owner", summary.limit ? std::optional(summary.limit_owner) : std::nullopt);
        json.field("floor_bytes", judged ? std::optional(judgement->floor) : std::nullopt);
        json.field("slope_bytes_per_second", judged ? std::optional(judgement->floor_slope) : std::nullopt);
        json.list("advice", [&] {
            for (const std::string& sentence : summary.advice) json.value(sentence);
        });
        json.list("deaths", [&] {
            for (const Death& death : summary.deaths)
                json.object([&] {
                    json.field("time", death.time);
                    json.field("pid", death.id.pid);
                    json.field("comm", death.comm);
                    json.field("role", role_text(death.role));
                    json.field("cause", name_of(death.cause));
                    json.field("text", death.explanation);
                });
        });
        json.field("deaths_left_out", summary.more_deaths);
        json.field("warmup_ended", judgement ? count_of(judgement->warmup_ended) : std::nullopt);
        json.field("leak_started", judgement ? count_of(judgement->leak_started) : std::nullopt);
    });
}

void write_event(JsonWriter& json, const RecordedEvent& event) {
    json.object([&] {
        json.field("time", event.time);
        json.field("kind", event.kind);
        json.field("text", event.text);
    });
}

void write_forecast(JsonWriter& json, const RunState& run) {
    const TargetSnapshot* target = run.last_target();
    const ScopeVerdict* verdict = target && target->up ? target->verdict() : nullptr;
    if (!verdict || !verdict->forecast || !verdict->forecast->limit) return json.field("forecast", nullptr);
    const Forecast& forecast = *verdict->forecast;
    json.object("forecast", [&] {
        json.field("basis", word(forecast.basis));
        json.field("limit_bytes", forecast.limit->limit);
        json.field("limit_owner", forecast.limit->owner);
        json.field("eta_seconds", forecast.eta);
        json.field("earliest_seconds", forecast.earliest);
        json.field("latest_seconds", forecast.latest);
    });
}

void write_times(JsonWriter& json, std::string_view name, const std::vector<double>& times) {
    json.list(name, [&] {
        for (const double time : times) json.value(time);
    });
}

// Curves have thousands of numbers, so they are written without decimals that have no meaning, to save space.
class NumberList {
  public:
    explicit NumberList(std::string& out) : out_(out) { out_ += '['; }
    ~NumberList() { out_ += ']'; }
    NumberList(const NumberList&) = delete;
    NumberList& operator=(const NumberList&) = delete;

    void add(double value, const char* format) {
        if (!std::exchange(first_, false)) out_ += ',';
        if (std::isfinite(value))
            fmt::format_to(std::back_inserter(out_), fmt::runtime(format), value);
        else
            out_ += "null";
    }

  private:
    std::string& out_;
    bool first_ = true;
};

constexpr const char* kWhole = "{:.0f}";
constexpr const char* kTenths = "{:.1f}";
constexpr const char* kMillis = "{:.3f}";

std::string json_text(std::string_view text) {
    JsonWriter json;
    json.value(text);
    return json.text();
}

void write_cells(std::string& out, const char* name, const Thinned::Curve& curve, double Columns::Cell::* member) {
    const char* format = curve.name.group == "count" ? kTenths : kWhole;
    out += fmt::format(",\"{}\":", name);
    NumberList list(out);
    for (const Columns::Cell& cell : curve.cells) list.add(cell.*member, format);
}

// Writes only the values that the page draws of each series. This halves the size of the answer.
void write_curve(std::string& out, const Thinned::Curve& curve) {
    const std::string& id = curve.name.id;
    out += fmt::format("{{\"id\":{},\"label\":{},\"group\":\"{}\"", json_text(id), json_text(curve.name.label),
                       curve.name.group);
    const bool range = id == "held" || id == "usage";
    if (range) write_cells(out, "low", curve, &Columns::Cell::low);
    if (range || curve.name.group == "gpu") write_cells(out, "high", curve, &Columns::Cell::high);
    write_cells(out, "mean", curve, &Columns::Cell::mean);
    out += '}';
}

}  // namespace

std::string run_json(const RunState& run) {
    JsonWriter json;
    json.object([&] {
        json.field("mode", run.mode);
        json.field("target", run.target.name);
        json.field("version", run.version);
        json.field("recording", run.recording);
        json.field("history", run.history);
        json.field("began", run.began);
        json.field("ended", run.ended ? std::optional(run.last) : std::nullopt);
        json.field("last", run.last);
        json.field("ticks", run.ticks);
        json.field("interval", run.interval);
        write_summary(json, run.summary);
        write_forecast(json, run);
        json.list("phases", [&] {
            for (const Phase& phase : phases_of(run))
                json.object([&] {
                    json.field("kind", phase.kind);
                    json.field("from", phase.from);
                    json.field("to", phase.to);
                });
        });
        json.list("events", [&] {
            for (const RecordedEvent& event : run.events) write_event(json, event);
        });
        json.field("events_left_out", run.events_left_out);
        write_times(json, "growth_times", run.growth_times);
        write_times(json, "heap_times", run.heap_times);
        json.field("complete", run.complete);
        json.field("with_commands", run.with_commands);
    });
    return json.text();
}

std::string curves_json(const RunState& run, double from, double to, std::size_t width) {
    const Thinned thinned = run.curves.thinned(from, to, width);
    std::string out =
        fmt::format("{{\"from\":{:.3f},\"to\":{:.3f},\"bin\":{:.6f},\"complete\":{},\"time\":", thinned.from,
                    thinned.to, thinned.bin, run.complete);
    {
        NumberList times(out);
        for (const double time : thinned.times) times.add(time, kMillis);
    }
    out += ",\"series\":[";
    bool first = true;
    for (const Thinned::Curve& curve : thinned.curves) {
        if (!std::exchange(first, false)) out += ',';
        write_curve(out, curve);
    }
    return out + "]}";
}

std::string error_json(std::string_view sentence) {
    JsonWriter json;
    json.object([&] { json.field("error", sentence); });
    return json.text();
}

namespace {

void write_figures(JsonWriter& json, const Figures& figures) {
    json.field("time", figures.time);
    json.field("held", figures.held);
    json.field("floor", figures.floor);
    json.field("usage", figures.usage);
    json.field("limit", figures.limit);
    json.object("kinds", [&] {
        for (const auto& [kind, bytes] : by_kind(figures.kinds)) json.field(kind, bytes);
    });
    json.object("roles", [&] {
        for (const auto& [role, bytes] : figures.roles) json.field(role, bytes);
    });
    json.object("gpus", [&] {
        for (const Figures::Gpu& gpu : figures.gpus)
            json.object(gpu.number, [&] {
                for (const auto& [what, bytes] : gpu.sizes) json.field(what, bytes);
            });
    });
    json.field("processes", figures.processes);
}

}  // namespace

std::string live_json(const RunState& run, const std::vector<Figures>& ticks, double after) {
    JsonWriter json;
    json.object([&] {
        json.list("ticks", [&] {
            for (const Figures& tick : ticks) json.object([&] { write_figures(json, tick); });
        });
        json.list("events", [&] {
            for (const RecordedEvent& event : run.events)
                if (event.time > after) write_event(json, event);
        });
        write_summary(json, run.summary);
        write_forecast(json, run);
        json.field("last", run.last);
        json.field("ended", run.ended);
        json.field("complete", run.complete);
    });
    return json.text();
}

}  // namespace memscope::web
