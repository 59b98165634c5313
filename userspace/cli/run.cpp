#include "cli/run.h"

#include <cstdlib>
#include <unistd.h>

#include "base/version.h"
#include "cli/arguments/options.h"
#include "cli/demo_command.h"
#include "cli/doctor.h"
#include "cli/launch.h"
#include "cli/offer.h"
#include "cli/print.h"
#include "cli/recordings/recordings.h"
#include "cli/recordings/replay_command.h"
#include "cli/recordings/report.h"
#include "cli/verdict_command.h"
#include "cli/watcher/growth_command.h"
#include "cli/watcher/heap_command.h"
#include "cli/watcher/status_command.h"
#include "cli/web.h"
#include "watch/watch.h"

namespace memscope {
namespace {

int fail(const Error& error, int status) {
    print_error(error);
    return status;
}

// A closed pipe is not an error, because the reader (`| head`) has read enough.
int print_and_end(std::string_view text, int status = 0) {
    const auto printed = print(text);
    if (printed || printed.error().code == std::errc::broken_pipe) return status;
    return fail(printed.error(), 1);
}

int run_command(const WatchOptions& options) {
    const auto ended = options.command.empty() ? watch(SysRoot{}, options) : launch(SysRoot{}, options);
    if (const auto* failure = std::get_if<WatchFailure>(&ended))
        return fail(failure->error, failure->exit_status.value_or(failure->at_start ? 2 : 1));
    return std::get<int>(ended);
}

int run_command(const StatusOptions& options) {
    const auto answer = ask_status(SysRoot{}, options);
    if (const auto* failure = std::get_if<AskFailure>(&answer)) return fail(failure->error, failure->exit_status);
    return print_and_end(std::get<std::string>(answer));
}

int run_command(const GrowthOptions& options) {
    const auto answer = ask_growth(SysRoot{}, options, standard_output());
    if (const auto* failure = std::get_if<AskFailure>(&answer)) return fail(failure->error, failure->exit_status);
    const auto& [output, note] = std::get<GrowthAnswer>(answer);
    if (!note.empty()) print_error(plain_error(note));
    return print_and_end(output);
}

int run_command(const HeapOptions& options) {
    const auto answer = show_heap(SysRoot{}, options);
    if (const auto* failure = std::get_if<AskFailure>(&answer)) return fail(failure->error, failure->exit_status);
    return print_and_end(std::get<std::string>(answer));
}

int run_command(const VerdictOptions& options) {
    const auto answer = judge_file(options);
    if (!answer) return fail(answer.error(), 2);
    return print_and_end(answer->output, answer->matched ? 3 : 0);
}

int run_command(const ReportOptions& options) {
    const auto answer = options.html ? write_html_report(options) : show_report(options, standard_output().terminal);
    if (!answer) return fail(answer.error(), 2);
    return print_and_end(*answer);
}

int run_command(const ExportOptions& options) {
    const auto exported = export_recording(options, print, standard_output().terminal);
    if (exported || exported.error().code == std::errc::broken_pipe) return 0;
    return fail(exported.error(), 2);
}

int run_command(const ReplayOptions& options) {
    const auto ended = replay_recording(options);
    return ended ? 0 : fail(ended.error(), 2);
}

int run_command(const RecordingsOptions& options) {
    const auto answer = show_recordings(options);
    if (!answer) return fail(answer.error(), 2);
    return print_and_end(*answer);
}

int run_command(const CompareOptions& options) {
    const auto answer = compare_recordings(options);
    if (!answer) return fail(answer.error(), 2);
    return print_and_end(answer->output, answer->broken ? 3 : 0);
}

int run_command(const WebOptions& options) {
    const auto ended = serve_page(SysRoot{}, options);
    if (const auto* failure = std::get_if<AskFailure>(&ended)) return fail(failure->error, failure->exit_status);
    return std::get<int>(ended);
}

int run_command(const DoctorOptions& options) {
    const Diagnosis diagnosis = diagnose(SysRoot{});
    return print_and_end(options.json ? diagnosis_json(diagnosis) : diagnosis_text(diagnosis),
                         diagnosis.works() ? 0 : 2);
}

int run_command(const DemoOptions& options) {
    const auto ended = run_demo(SysRoot{}, options.scenario, options.seconds);
    if (!ended) return fail(ended.error(), 2);
    return *ended;
}

int run_command(const NothingToWatch& nothing) {
    if (!standard_output().terminal) return fail(nothing.error, 2);
    return print_and_end(offer_text(make_offer(SysRoot{}), ::geteuid() == 0));
}

int run_command(const Help& help) { return print_and_end(help.text); }
int run_command(const Version&) { return print_and_end("memscope " + std::string(kVersion) + "\n"); }

}  // namespace

int run(const std::vector<std::string>& arguments) {
    const auto command =
        parse_command(arguments, [](const std::string& path) { return read_file(path); }, std::getenv(kRecordVariable));
    if (!command) return fail(command.error(), 2);
    return std::visit([](const auto& chosen) { return run_command(chosen); }, *command);
}

}  // namespace memscope
