#include "cli/watcher/growth_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kTopOfText = 20;
constexpr Seconds kGrowthPatience{20};  // the watcher may have to symbolize thousands of stacks first

Question question_of(const GrowthOptions& options, const GrowthDisplay& display) {
    Question question{
        .path = "/api/v1/growth", .parameters = {{"format", options.format}}, .patience = kGrowthPatience};
    const bool text = options.format == "text";
    const auto top = options.top || !text ? options.top : std::optional(kTopOfText);
    if (top) question.parameters["top"] = std::to_string(*top);
    if (options.since) question.parameters["since"] = *options.since;
    if (options.at_peak) question.parameters["at"] = "peak";
    if (options.stacks) question.parameters["stacks"] = "1";
    if (text && display.terminal) question.parameters["colour"] = "1";
    if (text && display.columns > 0) question.parameters["columns"] = std::to_string(display.columns);
    return question;
}

}  // namespace

GrowthDisplay standard_output() {
    GrowthDisplay display{.terminal = ::isatty(STDOUT_FILENO) == 1};
    winsize size{};
    if (display.terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) display.columns = size.ws_col;
    return display;
}

std::variant<GrowthAnswer, AskFailure> ask_growth(const SysRoot& root, const GrowthOptions& options,
                                                  const GrowthDisplay& display) {
    if (options.format == "pprof" && display.terminal)
        return AskFailure{plain_error("a pprof profile is binary and cannot be shown on a terminal",
                                      "write it to a file: memscope growth --format pprof >growth.pb.gz"),
                          2};
    auto asked = ask_watcher(root, options.target, question_of(options, display));
    if (auto* failure = std::get_if<AskFailure>(&asked)) {
        if (failure->error.code == std::errc::message_size)
            failure->error.advice = "request fewer call sites: --top 1000";
        return *failure;
    }
    auto& answer = std::get<HttpResponse>(asked);
    if (answer.status != 200) return AskFailure{plain_error(std::string(trimmed(answer.body)))};
    return GrowthAnswer{std::move(answer.body), std::move(answer.note)};
}

}  // namespace memscope
