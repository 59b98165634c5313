// How good the verdicts are: many generated series with known answers, judged by memscope and by the methods that
// people use otherwise.
//   bench_verdict [SERIES [SEED]] [--bar FACTOR] [--beside 'COMMAND']
// FACTOR is the evidence other than the curve: it scales how large a rise must be to be a leak (Evidence::bar). 1:
// none. COMMAND takes the name of a CSV file (t_seconds,bytes) and prints JSON with `verdict` and
// `floor_slope_bytes_per_second`. It is started once per series, so it judges only every 20th series.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "analysis/verdict/judge.h"
#include "analysis/verdict/statistics.h"
#include "bench.h"
#include "series/rivals.h"
#include "series/score.h"

namespace memscope::made {
namespace {

constexpr int kBesideEvery = 20;

struct Request {
    int series = 10000;
    std::uint64_t seed = 1;
    std::optional<std::string> beside{};
    Evidence evidence{};
};

struct Timed {
    Score score{};
    double seconds = 0;
};

std::optional<double> number_after(const std::string& json, const std::string& key) {
    const auto at = json.find('"' + key + '"');
    if (at == std::string::npos) return std::nullopt;
    const auto colon = json.find(':', at);
    char* end = nullptr;
    const double value = std::strtod(json.c_str() + colon + 1, &end);
    return end == json.c_str() + colon + 1 ? std::nullopt : std::optional(value);
}

Answer beside_says(const std::string& command, const Labelled& made) {
    char name[] = "/tmp/memscope-series-XXXXXX";
    const int fd = ::mkstemp(name);
    if (fd < 0) throw std::runtime_error("no temporary file");
    FILE* file = ::fdopen(fd, "w");
    fmt::print(file, "t_seconds,bytes\n");
    for (const auto& sample : made.samples) fmt::print(file, "{},{:.0f}\n", sample.at, sample.bytes);
    std::fclose(file);
    std::string json;
    if (FILE* pipe = ::popen((command + " " + name).c_str(), "r")) {
        char buffer[4096];
        while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) json.append(buffer, n);
        ::pclose(pipe);
    }
    ::unlink(name);
    for (const Verdict verdict : kVerdicts)
        if (json.find(fmt::format("\"{}\"", word(verdict))) != std::string::npos)
            return {verdict, number_after(json, "floor_slope_bytes_per_second")};
    throw std::runtime_error(command + " printed no verdict");
}

template <class Says>
void judge_with(Timed& timed, const Labelled& made, std::uint64_t seed, Says says) {
    const auto before = std::chrono::steady_clock::now();
    const Answer answer = says(made);
    timed.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    timed.score.add(made, answer, seed);
}

// Judges everything on all cores. Results are joined in the order of their seeds, so that a run can be repeated.
struct Results {
    Timed memscope{};
    std::vector<Timed> rivals{std::vector<Timed>(made::rivals().size())};
    Timed beside{};
    Watching watching{};
    ForecastErrors forecasts{};

    void add(std::uint64_t seed, const Request& request) {
        int index = 0;
        for (const Family& family : families()) {
            const Labelled made = make(family, seed);
            judge_with(memscope, made, seed,
                       [&](const Labelled& each) { return watching.add(each, seed, request.evidence); });
            for (std::size_t i = 0; i < rivals.size(); ++i) judge_with(rivals[i], made, seed, made::rivals()[i].says);
            if (request.beside && (seed * families().size() + index) % kBesideEvery == 0)
                judge_with(beside, made, seed,
                           [&](const Labelled& each) { return beside_says(*request.beside, each); });
            ++index;
        }
        for (const bool stepped : {false, true}) forecasts.add(make_dying(seed, stepped));
    }
    void join(const Results& other) {
        const auto join_timed = [](Timed& to, const Timed& from) {
            to.score.join(from.score);
            to.seconds += from.seconds;
        };
        join_timed(memscope, other.memscope);
        for (std::size_t i = 0; i < rivals.size(); ++i) join_timed(rivals[i], other.rivals[i]);
        join_timed(beside, other.beside);
        watching.join(other.watching);
        forecasts.join(other.forecasts);
    }
};

Results run(const Request& request) {
    const int rounds = std::max(1, request.series / static_cast<int>(families().size()));
    std::vector<Results> parts(static_cast<std::size_t>(rounds));
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
        workers.emplace_back([&] {
            for (std::size_t part = next++; part < parts.size(); part = next++)
                parts[part].add(request.seed + part, request);
        });
    workers.clear();
    Results all;
    for (const Results& part : parts) all.join(part);
    return all;
}

std::string share(int part, int whole) { return whole == 0 ? "-" : fmt::format("{:.2f} %", 100.0 * part / whole); }

void print_row(const char* name, const Timed& timed) {
    const Score& score = timed.score;
    if (score.series == 0) return;
    fmt::print("| {} | {} | {} | {} of {} | {} of {} | {} | {:.2f} ms |\n", name, score.series,
               share(score.right, score.series), score.accused, score.healthy, score.missed, score.leaks,
               share(score.slopes_near, score.slopes), 1e3 * timed.seconds / score.series);
}

void report(const Results& results, const Request& request) {
    fmt::print("{} families, seeds from {}\n\n", families().size(), request.seed);
    fmt::print("| detector | series | right | false `leaking` | leaks missed | slope within 10 % | a series |\n");
    fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
    print_row("memscope", results.memscope);
    for (std::size_t i = 0; i < results.rivals.size(); ++i) print_row(rivals()[i].name, results.rivals[i]);
    print_row(request.beside ? request.beside->c_str() : "", results.beside);
    const Score& score = results.memscope.score;
    const Watching& watching = results.watching;
    const auto percent = [](const std::vector<double>& errors) { return 100 * median(errors); };
    fmt::print("\nleaks of an hour and more that were missed: {} of {}\n", score.long_missed, score.long_leaks);
    fmt::print("healthy jobs that were called leaking at any moment: {} of {}\n", watching.accused, watching.healthy);
    fmt::print("from the start of a late leak to the verdict: {:.0f} s (median of {}; {} were not found)\n",
               median(watching.delays), watching.delays.size(), watching.never);
    fmt::print(
        "changes of the verdict, shown at 60 moments of a series: {:.0f} (median), {:.0f} (90 of 100), {:.0f} "
        "(most)\n",
        median(watching.changes), quantile(watching.changes, 0.9), quantile(watching.changes, 1));
    fmt::print(
        "error of the forecast 60 s before the limit: {:.1f} % on {} steady leaks, {:.1f} % on {} in steps "
        "(medians; {} without a forecast)\n",
        percent(results.forecasts.steady), results.forecasts.steady.size(), percent(results.forecasts.stepped),
        results.forecasts.stepped.size(), results.forecasts.silent);
    for (const auto& [what, count] : score.wrong) fmt::print("  wrong {}x {}\n", count, what);
    for (const std::string& what : watching.cases) fmt::print("  while watching: {}\n", what);
}

// The cost of a tick for a watcher: three days at 1 Hz, judged whenever a judgement is due.
void report_cost() {
    Judge judge;
    constexpr int kTicks = 3 * 86400;
    const double ms = cpu_of([&] {
        for (int t = 0; t < kTicks; ++t)
            judge.add(Seconds(t), Bytes{(6ULL << 30U) + static_cast<std::uint64_t>(t % 300 < 10) * (2ULL << 30U)});
    });
    fmt::print("three days at 1 Hz: {:.1f} us CPU a sample, judgements included\n", 1e3 * ms / kTicks);
}

Request request_of(int argc, char** argv) {
    Request request;
    int numbers = 0;
    for (int i = 1; i < argc; ++i) {
        if (std::string(argv[i]) == "--beside" && i + 1 < argc)
            request.beside = argv[++i];
        else if (std::string(argv[i]) == "--bar" && i + 1 < argc)
            request.evidence.bar = std::strtod(argv[++i], nullptr);
        else if (numbers++ == 0)
            request.series = std::atoi(argv[i]);
        else
            request.seed = std::strtoull(argv[i], nullptr, 10);
    }
    return request;
}

}  // namespace
}  // namespace memscope::made

int main(int argc, char** argv) {
    return memscope::report_of([&] {
        const auto request = memscope::made::request_of(argc, argv);
        memscope::made::report(memscope::made::run(request), request);
        memscope::made::report_cost();
    });
}
