#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "outputs/http/http_message.h"

namespace memscope {

struct AskFailure {
    Error error{};
    int exit_status = 1;
};

// A target and the socket of a watcher that watches it.
struct WatchedTarget {
    std::string name{};
    fs::path socket{};
    std::optional<pid_t> pid{};  // of a watched process or command
};

// A request to the watcher of a target. The target is added to the parameters.
struct Question {
    std::string path{};
    std::map<std::string, std::string> parameters{};
    Seconds patience{5};  // timeout
};

// Finds the watcher of the target. Without a name: the watcher of the only target.
std::variant<WatchedTarget, AskFailure> find_watcher(const SysRoot& root, const std::optional<std::string>& target);

// Finds the watcher of the target and sends the request. The response can have any HTTP status.
std::variant<HttpResponse, AskFailure> ask_watcher(const SysRoot& root, const std::optional<std::string>& target,
                                                   const Question& question);

// Returns the target with the wanted name, else the target with this pid, else the only target whose name contains the
// text. Without a text: the only target. Otherwise an error that lists the targets.
std::variant<WatchedTarget, AskFailure> choose_target(const std::vector<WatchedTarget>& targets,
                                                      const std::optional<std::string>& wanted);

}  // namespace memscope
