#include "cli/watcher/heap_command.h"

#include <fmt/format.h>
#include <thread>

#include "analysis/roles/roles.h"
#include "base/text.h"
#include "cli/watcher/growth_command.h"
#include "outputs/heap/heap_text.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {
namespace {

AskFailure failure_of(const Error& error, pid_t pid) {
    constexpr int kNotPossible = 2;
    if (error.code == std::errc::no_such_process)
        return {plain_error(fmt::format("there is no process {}", pid), "`ps` lists the pids"), kNotPossible};
    if (error.code == std::errc::permission_denied || error.code == std::errc::operation_not_permitted)
        return {Error{error.code, error.where, "run it as root"}, kNotPossible};
    if (error.code == std::errc::timed_out)
        return {plain_error(fmt::format("process {} blocks its readers: the helper process was killed", pid)), 1};
    return {error, 1};
}

// A helper reads the command line and the environment, because both are memory of the process, which can block its
// reader.
RoleKey role_of(ReadHelpers& helpers, const SysRoot& root, ProcessId id) {
    const auto details = helpers.patient.call(DetailsJob{.id = id});
    const auto comm = read_file(root.proc / std::to_string(id.pid) / "comm", 64);
    RoleDecider roles;
    RoleDecider::Subject subject{.id = id};
    if (comm) subject.comm = trimmed(*comm);
    if (details && *details) {
        subject.argv = &(**details).argv;
        subject.rank = (**details).rank;
    }
    return roles.decide({&subject, 1}).front();
}

std::variant<std::string, AskFailure> ask_heap(const SysRoot& root, const HeapOptions& options) {
    constexpr Seconds kPatience{90};  // censuses of several processes, one after the other
    Question question{.path = "/api/v1/heap",
                      .parameters = {{"format", options.json ? "json" : "text"}, {"top", std::to_string(options.top)}},
                      .patience = kPatience};
    if (options.type) question.parameters["type"] = *options.type;
    if (options.pid) question.parameters["pid"] = std::to_string(*options.pid);
    if (const std::size_t columns = standard_output().columns; columns > 0)
        question.parameters["columns"] = std::to_string(columns);
    auto asked = ask_watcher(root, options.target, question);
    const auto answered = [&] {
        const auto* answer = std::get_if<HttpResponse>(&asked);
        return answer && answer->status == 200;
    };
    if (options.again && answered()) {
        std::this_thread::sleep_for(*options.again);
        asked = ask_watcher(root, options.target, question);  // the watcher compares it with the first census
    }
    if (auto* failure = std::get_if<AskFailure>(&asked)) return *failure;
    auto& answer = std::get<HttpResponse>(asked);
    if (!answered()) return AskFailure{plain_error(std::string(trimmed(answer.body)))};
    return std::move(answer.body);
}

std::variant<std::string, AskFailure> read_heap(const SysRoot& root, const HeapOptions& options, pid_t pid) {
    const auto helpers = ReadHelpers::start(root);
    if (!helpers) return AskFailure{helpers.error()};
    ProcessHeap process;
    auto first = (*helpers)->heap.call(HeapJob{.pid = pid, .number = 1, .objects = true});
    if (!first) return failure_of(first.error(), pid);
    process.census = *std::move(first);
    if (options.again) {
        std::this_thread::sleep_for(*options.again);
        auto second = (*helpers)->heap.call(HeapJob{.pid = pid, .number = 2, .objects = true});
        if (!second) return failure_of(second.error(), pid);
        // Another process may have the pid now.
        if (second->process != process.census.process) return failure_of(system_error(ESRCH, ""), pid);
        process.earlier = std::exchange(process.census, *std::move(second));
    }
    process.role = role_of(**helpers, root, process.census.process);
    const HeapReport report{
        .time = process.census.time, .target = {}, .processes = {process}, .top = options.top, .type = options.type};
    return options.json ? heap_json(report) : heap_text(report, standard_output().columns);
}

}  // namespace

std::variant<std::string, AskFailure> show_heap(const SysRoot& root, const HeapOptions& options) {
    return options.pid && !options.target ? read_heap(root, options, *options.pid) : ask_heap(root, options);
}

}  // namespace memscope
