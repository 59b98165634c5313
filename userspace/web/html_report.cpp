#include "web/html_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "base/base64.h"
#include "base/sha256.h"
#include "outputs/growth/growth_json.h"
#include "outputs/heap/heap_json.h"
#include "outputs/json/tick_json.h"
#include "review/replay.h"
#include "web/page_json.h"

namespace memscope::web {
namespace {

// Together with the page less than 5 MB.
constexpr std::size_t kMostRunBytes = 400'000;
constexpr std::size_t kMostCurveBytes = 1'600'000;
constexpr std::size_t kMostTickBytes = 1'600'000;
constexpr std::size_t kMostGrowthBytes = 600'000;
constexpr std::size_t kMostHeapBytes = 300'000;
constexpr std::size_t kMostMoments = 120;
constexpr std::size_t kMostWanted = 80;
constexpr std::size_t kMostGrowths = 12;
constexpr std::size_t kMostReportedHeaps = 8;
constexpr std::size_t kMostReportedSites = 20;
constexpr std::size_t kMostReportedHeapEntries = 10;
constexpr std::size_t kBins = 2000;
constexpr std::size_t kLeastBins = 125;
constexpr double kCloseUp = 600;  // seconds around an event
constexpr std::size_t kCloseUpBins = 600;
constexpr std::size_t kMostCloseUps = 6;

// A list of JSON objects in at most some number of bytes, escaped for HTML.
class BoundedList {
  public:
    explicit BoundedList(std::size_t most) : most_(most) {}
    // False: the list has no room for it.
    bool add(std::string_view plain) {
        const std::string json = escaped_for_html(plain);
        if (text_.size() + json.size() > most_) return false;
        text_ += (text_.empty() ? "" : ",") + json;
        return true;
    }
    std::string text() const { return "[" + text_ + "]"; }

  private:
    std::size_t most_;
    std::string text_{};
};

Result<RunState> read_whole_run(const RecordedRun& recorded, const HtmlReportOptions& options) {
    constexpr double kForever = std::numeric_limits<double>::infinity();
    RunState run{.mode = "report", .ended = true, .with_commands = options.with_commands};
    if (auto read = recorded.read_outline(run, kForever); !read) return read.error();
    if (run.ticks == 0) return plain_error(recorded.path().string() + ": has no tick yet");
    const auto summary = recorded.read_ticks(kForever, [&](const std::vector<Figures>& some) {
        for (const Figures& figures : some) run.curves.add_rest(figures);
        return true;
    });
    if (!summary) return summary.error();
    const auto bins = recorded.bins();
    if (!bins) return bins.error();
    run.curves.add_other_bins(recorded.began(), *bins);
    run.summary = summary_of(*summary);
    if (!options.with_commands) remove_commands(run.events);
    return run;
}

// The most important moments first: the end, the beginning and the peak of the run; then deaths, each with the tick
// before it; then verdicts, precursors and actions.
std::vector<double> important_moments(const RunState& run) {
    std::vector<double> moments{run.last, run.began, run.summary.peak_time};
    for (const Death& death : run.summary.deaths) moments.push_back(death.time);
    for (const RecordedEvent& event : run.events)
        if (event.kind == "death") {
            moments.push_back(event.time);
            // A tick at which the process was still alive.
            moments.push_back(event.time - run.interval.value_or(1));
        }
    for (const RecordedEvent& event : run.events)
        if (event.kind != "death" && is_notable(event)) moments.push_back(event.time);
    if (moments.size() > kMostWanted) moments.resize(kMostWanted);
    return moments;
}

std::string curves_of(const RunState& run) {
    BoundedList list(kMostCurveBytes);
    for (std::size_t bins = kBins; bins >= kLeastBins; bins /= 2)
        if (list.add(curves_json(run, run.began, run.last, bins))) break;
    // Adds more detail around deaths and the peak, unless the curves of the whole run have this resolution already.
    if ((run.last - run.began) / kBins < 2 * kCloseUp / kCloseUpBins) return list.text();
    std::vector<double> at;
    at.reserve(run.summary.deaths.size() + 2);
    for (const Death& death : run.summary.deaths) at.push_back(death.time);
    at.push_back(run.last);
    at.push_back(run.summary.peak_time);
    std::vector<double> done;
    for (const double time : at) {
        const auto near = [time](double other) { return std::abs(other - time) < kCloseUp; };
        if (done.size() >= kMostCloseUps || std::ranges::any_of(done, near)) continue;
        done.push_back(time);
        (void)list.add(curves_json(run, std::max(run.began, time - kCloseUp), std::min(run.last, time + kCloseUp),
                                   kCloseUpBins));  // if there is no room, the page has only the whole run
    }
    return list.text();
}

Result<std::string> ticks_of(const RecordedRun& recorded, const RunState& run, const HtmlReportOptions& options) {
    const auto times = recorded.tick_times();
    if (!times) return times.error();
    // Fewer moments if the ticks are large.
    for (std::size_t most = kMostMoments; most > 0; most /= 2) {
        BoundedList list(kMostTickBytes);
        bool fits = true;
        for (const double time : choose_moments(*times, important_moments(run), most)) {
            auto tick = recorded.tick(time);
            if (!tick) return tick.error();
            if (!*tick) continue;
            if (!options.with_commands) remove_commands(**tick);
            fits = list.add(tick_json(**tick, (**tick).targets.front()));
            if (!fits) break;
        }
        if (fits) return list.text();
    }
    return std::string("[]");
}

// Evenly chosen times, including the last one. Newest first, because the newest must fit.
std::vector<double> newest_first(const std::vector<double>& times, std::size_t most) {
    std::vector<double> chosen = choose_moments(times, {std::numeric_limits<double>::infinity()}, most);
    std::ranges::reverse(chosen);
    return chosen;
}

// The JSON of the run, escaped for HTML. If it is too large, the oldest events are left out.
std::string bounded_run(RunState& run) {
    for (;;) {
        std::string json = escaped_for_html(run_json(run));
        if (json.size() <= kMostRunBytes || run.events.empty()) return json;
        const std::size_t extra = (run.events.size() + 1) / 2;
        run.events.erase(run.events.begin(), run.events.begin() + static_cast<std::ptrdiff_t>(extra));
        run.events_left_out += extra;
    }
}

// `make` returns the JSON of a time. Sets `times` to the times that are in the list.
template <class Make>
Result<std::string> dated_list(std::vector<double>& times, std::size_t most, std::size_t bytes, std::string_view name,
                               Make make) {
    std::vector<std::pair<double, std::string>> entries;
    std::size_t size = 0;
    for (const double time : newest_first(times, most)) {
        Result<std::string> json = make(time);
        if (!json) return json.error();
        std::string escaped = escaped_for_html(*json);
        if (escaped.empty() || size + escaped.size() > bytes) continue;
        size += escaped.size();
        entries.emplace_back(time, std::move(escaped));
    }
    std::ranges::sort(entries);
    times.clear();
    std::string list;
    for (const auto& [time, json] : entries) {
        times.push_back(time);
        list += fmt::format("{}{{\"at\":{:.3f},\"{}\":{}}}", list.empty() ? "" : ",", time, name, json);
    }
    return "[" + list + "]";
}

Result<std::string> growth_of(const RecordedRun& recorded, RunState& run) {
    return dated_list(
        run.growth_times, kMostGrowths, kMostGrowthBytes, "growth", [&](double time) -> Result<std::string> {
            auto growth = recorded.growth(time);
            if (!growth) return growth.error();
            if (!*growth) return std::string();
            return growth_json(
                {.time = time, .target = run.target, .growth = **std::move(growth), .top = kMostReportedSites});
        });
}

Result<std::string> heap_of(const RecordedRun& recorded, RunState& run) {
    return dated_list(run.heap_times, kMostReportedHeaps, kMostHeapBytes, "heap",
                      [&](double time) -> Result<std::string> {
                          auto heaps = recorded.heap(time);
                          if (!heaps) return heaps.error();
                          return heap_json({.time = time,
                                            .target = run.target.name,
                                            .processes = *std::move(heaps),
                                            .top = kMostReportedHeapEntries});
                      });
}

// 'sha256-...' for a Content-Security-Policy.
std::string hash_source(std::string_view text) {
    const auto digest = sha256(text);
    return "'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
}

// Replaces the first occurrence. False: there is none.
bool replace_once(std::string& text, std::string_view what, std::string_view with) {
    const auto at = text.find(what);
    if (at == std::string::npos) return false;
    text.replace(at, what.size(), with);
    return true;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [text](std::string_view word) {
        return std::ranges::search(
                   text, word, {}, [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : +c; },
                   [](char c) { return +c; })
                   .size() == word.size();
    });
}

}  // namespace

std::string escaped_for_html(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        const std::string_view three = json.substr(i, 3);
        if (c == '<' || c == '>' || c == '&') {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else if (three == "\u2028" || three == "\u2029") {
            out += three == "\u2028" ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            out += c;
        }
    }
    return out;
}

Result<std::string> assemble_html(const std::string& index, std::string script, std::string style,
                                  std::string_view data) {
    const Error broken = plain_error("the web page of this build cannot be put into one file", "build memscope again");
    // Removes \r, because a browser converts line ends to \n before it compares the hash.
    for (std::string* text : {&script, &style}) std::erase(*text, '\r');
    if (contains_any(script, {"</script", "<!--"}) || contains_any(style, {"</style", "<!--"})) return broken;
    const std::string policy = fmt::format(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash_source(script), hash_source(style));
    std::string html = index;
    const std::string head =
        fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<style>{}</style>", policy, style);
    const std::string end = fmt::format(
        "<script type=\"application/json\" id=\"memscope-data\">{}</script>\n<script>{}</script>", data, script);
    // The data is inserted last, so that replace_once() does not search in it.
    if (!replace_once(html, "<link rel=\"stylesheet\" href=\"/page.css\">", head) ||
        !replace_once(html, "<script type=\"module\" src=\"/page.js\"></script>", end))
        return broken;
    return html;
}

std::vector<double> choose_moments(const std::vector<double>& times, const std::vector<double>& wanted,
                                   std::size_t most) {
    std::set<double> chosen;
    if (times.empty() || most == 0) return {};
    for (const double each : wanted) {
        if (chosen.size() >= most) break;
        const auto after = std::ranges::upper_bound(times, each);
        chosen.insert(after == times.begin() ? times.front() : *std::prev(after));
    }
    const std::size_t free = most - chosen.size();
    for (std::size_t i = 0; i < free; ++i) {
        const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(free);
        chosen.insert(times[static_cast<std::size_t>(place * static_cast<double>(times.size()))]);
    }
    return {chosen.begin(), chosen.end()};
}

Result<std::string> html_report(const RecordedRun& recorded, const PageFiles& files, const HtmlReportOptions& options) {
    const PageFiles::File* index = files.find("index.html");
    const PageFiles::File* script = files.find("page.js");
    const PageFiles::File* style = files.find("page.css");
    if (!index || !script || !style) return plain_error("the web page is incomplete");
    auto run = read_whole_run(recorded, options);
    if (!run) return run.error();
    const auto ticks = ticks_of(recorded, *run, options);
    if (!ticks) return ticks.error();
    const auto growth = growth_of(recorded, *run);
    if (!growth) return growth.error();
    const auto heap = heap_of(recorded, *run);
    if (!heap) return heap.error();
    const std::string curves = curves_of(*run);
    const std::string data = fmt::format(R"({{"run":{},"curves":{},"ticks":{},"growth":{},"heap":{}}})",
                                         bounded_run(*run), curves, *ticks, *growth, *heap);
    return assemble_html(index->content, script->content, style->content, data);
}

}  // namespace memscope::web
