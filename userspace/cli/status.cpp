#include "cli/status.h"

namespace memscope {

std::variant<std::string, AskFailure> ask_status(const SysRoot& root, const StatusOptions& options) {
    auto asked = ask_watcher(root, options.target, {.path = options.json ? "/api/v1/status" : "/api/v1/text"});
    if (const auto* failure = std::get_if<AskFailure>(&asked)) return *failure;
    auto& answer = std::get<HttpResponse>(asked);
    if (answer.status != 200) return AskFailure{plain_error("the target ended while it was asked for")};
    if (!answer.body.ends_with('\n')) answer.body += '\n';
    return std::move(answer.body);
}

}  // namespace memscope
