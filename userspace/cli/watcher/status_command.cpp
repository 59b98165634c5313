#include "cli/watcher/status_command.h"

#include <fmt/format.h>

#include "base/text.h"
#include "outputs/json/tick_json.h"
#include "outputs/text/status_text.h"
#include "record/record.h"

namespace memscope {
namespace {

constexpr const char* kOtherVersion = "restart the watcher, or use the memscope that it was started with";

}  // namespace

std::variant<std::string, AskFailure> show_status(const HttpResponse& answer, bool json) {
    if (answer.status == 404 && answer.body.starts_with("no such target"))
        return AskFailure{plain_error("the target has just ended")};
    if (answer.status == 404)
        return AskFailure{
            plain_error("the running watcher has another version: it does not know /api/v1/record", kOtherVersion)};
    if (answer.status != 200)
        return AskFailure{plain_error(
            fmt::format("the watcher answered {}: {}", answer.status, shortened(printable(trimmed(answer.body)))))};
    const auto snapshot = decode_record<Snapshot>(answer.body);
    if (!snapshot) return AskFailure{plain_error("the answer of the watcher " + snapshot.error().where, kOtherVersion)};
    if (snapshot->targets.empty()) return AskFailure{plain_error("the answer of the watcher has no target")};
    const TargetSnapshot& target = snapshot->targets.front();
    std::string text = json ? tick_json(*snapshot, target) : status_text(*snapshot, target, false);
    if (!text.ends_with('\n')) text += '\n';
    return text;
}

std::variant<std::string, AskFailure> ask_status(const SysRoot& root, const StatusOptions& options) {
    const auto asked = ask_watcher(root, options.target, {.path = "/api/v1/record"});
    if (const auto* failure = std::get_if<AskFailure>(&asked)) return *failure;
    return show_status(std::get<HttpResponse>(asked), options.json);
}

}  // namespace memscope
