#include "watch/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/version.h"
#include "outputs/http/http_server.h"
#include "outputs/http/routes.h"
#include "recording/store.h"
#include "sources/proc/procfs.h"
#include "watch/clock.h"
#include "watch/growth_and_heap_answers.h"
#include "watch/loop.h"
#include "watch/self/least_privilege.h"
#include "watch/self/self_protection.h"
#include "watch/self/watcher_sockets.h"

namespace memscope {
namespace {

// Warns if the directory cannot be used, provided that the user named it or is root. For other users the error is
// reported when a death report has to be written. `nullopt`: reports are switched off.
std::optional<Result<ReportStore>> open_reports(const WatchOptions& options) {
    if (options.report_dir.empty()) return std::nullopt;
    auto store = ReportStore::open(options.report_dir);
    if (!store && (options.report_dir != kReportDirectory || ::geteuid() == 0)) warn(store.error());
    return store;
}

// Warns under the same conditions as open_reports(). `nullopt`: recording is switched off, or the directory cannot be
// used.
std::optional<RecordingStore> open_recordings(const WatchOptions& options) {
    if (options.record.empty()) return std::nullopt;
    auto store = RecordingStore::open(options.record, options.record_max);
    if (store) return std::optional(*std::move(store));
    if (options.record != kRecordingDirectory || ::geteuid() == 0)
        warn({store.error().code, "nothing is recorded: " + store.error().where, store.error().advice});
    return std::nullopt;
}

// The options that a reader of a recording needs.
std::map<std::string, std::string> recorded_options(const WatchOptions& options) {
    return {{"version", std::string(kVersion)},
            {"interval", fmt::format("{}", options.interval.count())},
            {"warmup", fmt::format("{}", options.warmup.count())},
            {"maps", options.maps ? "true" : "false"},
            {"growth", options.growth ? "true" : "false"},
            {"python", options.python ? "true" : "false"},
            {"gpu", options.gpu ? "true" : "false"},
            {"torch", options.torch ? "true" : "false"}};
}

// True if the default address is in use, usually by another watcher, and the user gave no option that needs HTTP. A
// service always needs HTTP, because Prometheus scrapes it.
bool can_watch_without_http(const WatchOptions& options, bool is_service, const Error& error) {
    const bool wanted = options.listen_chosen || options.http_status || !options.http_hosts.empty() || is_service;
    return !wanted && error.code == std::errc::address_in_use;
}

// The HTTP server for Prometheus.
struct Served {
    std::optional<HttpServer> server{};
    std::optional<Error> refused{};  // why there is no server, although the user did not switch it off
};
Result<Served> serve(const WatchOptions& options, bool is_service, HttpHandler routes) {
    if (!options.listen) return Served{};
    const auto address = parse_listen(*options.listen);
    if (!address) return address.error();
    auto server = HttpServer::on_tcp(*address, std::move(routes), {}, options.http_hosts);
    if (server) return Served{.server = std::move(*server)};
    if (!can_watch_without_http(options, is_service, server.error())) return server.error();
    return Served{.refused = plain_error(
                      fmt::format("{} is in use, so this watcher serves no /metrics", *options.listen),
                      "give it another address with --listen, as in --listen 127.0.0.1:9751, or --listen none")};
}

// What the user has to know about the targets of the first tick.
void explain_first_tick(const SysRoot& root, const WatchOptions& options, const Snapshot& first, Display& display) {
    for (const std::string& target : targets_around(first, own_cgroup_path(root)))
        display.warn_at_start(plain_error(inside_warning(target)));
    if (first.targets.empty()) display.notify({waiting_notice(options.cgroups)});
}

}  // namespace

std::variant<int, WatchFailure> watch(const SysRoot& root, const WatchOptions& asked, OwnCommand* command) {
    WatchOptions options = asked;
    const auto cannot = [](const Error& error) { return WatchFailure{error, true}; };
    const auto is_alive = [root](ProcessId id) { return static_cast<bool>(open_process(root, id)); };
    ServiceNotifier service = ServiceNotifier::from_environment();
    const bool is_service = service.exists();
    auto actions = Actions::start(options, is_alive);  // first, because its helper must inherit nothing of the watcher
    if (!actions) return cannot(actions.error());
    for (const std::string& trouble : actions->take_troubles()) warn(plain_error(trouble));
    // Opened before the servers start, because their threads inherit the blocked signals.
    auto wakeups = Wakeups::open(command != nullptr);
    if (!wakeups) return cannot(wakeups.error());
    allow_many_open_files();
    auto output = open_output(options);
    if (!output) return cannot(output.error());
    // Called after the helper that runs the user's commands was forked, because the commands must not inherit the
    // score. Called before the helpers that read processes are forked, because these helpers need the low score, too:
    // if the process that starts them is killed, memscope has to end. Without permission the score stays as it is, and
    // memscope doctor reports that.
    (void)lower_own_oom_score(root);
    auto collector = Collector::start(root, options);
    if (!collector) return cannot(collector.error());

    for (const Error& refused : collector->refused()) warn(refused);  // memscope works without these features
    auto reports = open_reports(options);
    auto recordings = open_recordings(options);
    // Drops privileges before the servers start their threads, because a thread keeps the capabilities that it starts
    // with.
    if (auto dropped = drop_privileges(root, options); !dropped) warn(dropped.error());

    Heartbeat heartbeat(options.interval);  // must outlive the servers, which read it
    const auto trouble = [&heartbeat] { return heartbeat.trouble(read_clock().boot_ns); };
    LatestSnapshot latest_snapshot;                  // must outlive the servers, which read it
    std::optional<Loop> loop;                        // must outlive the servers: requests for growth read its collector
    HeapRecorder& heap = collector->heap();          // keeps its address when the collector is moved
    GrowthRecorder* recorder = collector->growth();  // keeps its address when the collector is moved
    const GrowthSource growth = growth_of_latest(recorder, latest_snapshot, NativeReads::Wait::yes);
    auto http =
        serve(options, is_service,
              make_routes(latest_snapshot, {.status = options.http_status, .growth = growth, .trouble = trouble}));
    if (!http) return cannot(http.error());
    if (http->refused) options.listen.reset();
    loop.emplace(Loop::Parts{
        .options = options,
        .command = command,
        .wakeups = std::move(*wakeups),
        .collector = std::move(*collector),
        .display = Display(options, std::move(*output),
                           open_view(options, growth_of_latest(recorder, latest_snapshot, NativeReads::Wait::no))),
        .reports = DeathReporter(std::move(reports), growth_at_death(recorder)),
        .actions = std::move(*actions),
        .pulse = Pulse(std::move(service), heartbeat),
        .latest_snapshot = latest_snapshot});
    std::optional<Recorder> recording;  // ends before the loop, because its thread reads growth from the collector
    if (recordings) {
        recording.emplace(*std::move(recordings), Recorder::Settings{.meta = recorded_options(options),
                                                                     .growth = growth_to_record(recorder),
                                                                     .peak_growth = peak_growth_to_record(recorder),
                                                                     .stop_growth = [recorder] {
                                                                         if (recorder) recorder->stop_waiting();
                                                                     }});
        loop->record_with(&*recording);
    }
    if (auto prepared = loop->prepare(); !prepared) return cannot(prepared.error());
    if (http->refused) loop->display().warn_at_start(*http->refused);
    if (const SnapshotPtr first = latest_snapshot.get()) explain_first_tick(root, options, *first, loop->display());

    // Without the socket `memscope status` does not find this watcher. The watcher itself works without it, so it only
    // prints a warning.
    remove_stale_sockets(root);
    auto status = HttpServer::on_unix(
        own_socket(root),
        make_routes(
            latest_snapshot,
            {.status = true, .growth = growth, .trouble = trouble, .heap = heap_on_request(heap), .record = true}));
    if (!status) loop->display().warn_at_start(status.error());
    auto ended = loop->run();
    heap.stop_waiting();
    if (recorder) recorder->stop_waiting();  // the servers end when all requests are answered
    return ended;
}

}  // namespace memscope
