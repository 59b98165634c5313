#include "cli/watcher/ask_watcher.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/encodedstream.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <set>

#include "base/text.h"
#include "outputs/http/http_client.h"
#include "watch/self/watcher_sockets.h"

namespace memscope {
namespace {

constexpr Seconds kTargetsPatience{5};  // timeout of the request for the names of the targets

// The names and pids in {"targets":["train",...],"pids":[null,...]}. A watcher of an earlier version sends no pids.
class Names : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Names> {
  public:
    bool Key(const char* data, rapidjson::SizeType size, bool) {
        if (depth_ == 1) key_ = std::string(data, std::min<std::size_t>(size, 16));
        return true;
    }
    bool String(const char* data, rapidjson::SizeType size, bool) {
        if (depth_ == 2 && list_ == "targets") names.emplace_back(data, size);
        return true;
    }
    bool Null() { return pid({}); }
    bool Uint(unsigned number) { return pid(static_cast<pid_t>(number)); }
    bool StartObject() {
        ++depth_;
        return true;
    }
    bool EndObject(rapidjson::SizeType) {
        --depth_;
        return true;
    }
    bool StartArray() {
        if (++depth_ == 2) list_ = key_;
        return true;
    }
    bool EndArray(rapidjson::SizeType) {
        if (depth_-- == 2) list_.clear();
        return true;
    }

    std::vector<std::string> names{};
    std::vector<std::optional<pid_t>> pids{};

  private:
    bool pid(std::optional<pid_t> value) {
        if (depth_ == 2 && list_ == "pids") pids.push_back(value);
        return true;
    }

    int depth_ = 0;
    std::string key_{};   // the latest key of the outermost object
    std::string list_{};  // key of the list that is being read
};

// Empty if the text is not JSON. The parser is iterative, because any process that can create a socket in the directory
// could send deeply nested JSON.
Names names_in(const std::string& json) {
    Names names;
    rapidjson::MemoryStream stream(json.data(), json.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> input(stream);
    rapidjson::Reader reader;
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
    if (reader.Parse<kFlags>(input, names).IsError()) return {};
    names.pids.resize(names.names.size());
    return names;
}

std::vector<WatchedTarget> watched_targets(const WatcherSockets& sockets) {
    std::vector<WatchedTarget> targets;
    for (const fs::path& socket : sockets.alive) {
        const auto answer = http_get_unix(socket, "/api/v1/targets", kTargetsPatience);
        if (!answer || answer->status != 200) continue;  // the watcher has just ended
        Names found = names_in(answer->body);
        for (std::size_t i = 0; i < found.names.size(); ++i)
            targets.push_back({std::move(found.names[i]), socket, found.pids[i]});
    }
    return targets;
}

std::string listed(const std::vector<WatchedTarget>& targets) {
    std::set<std::string> names;
    for (const WatchedTarget& target : targets)
        names.insert(fmt::format("'{}'{}", target.name, target.pid ? fmt::format(" (pid {})", *target.pid) : ""));
    return fmt::format("{}", fmt::join(names, ", "));
}

// True if all entries mean the same target, because several watchers watch it: any of these watchers can answer. Two
// commands with the same name but different pids are two targets.
bool are_one(const std::vector<WatchedTarget>& targets) {
    return std::ranges::all_of(targets, [&](const WatchedTarget& target) {
        return target.name == targets.front().name && target.pid == targets.front().pid;
    });
}

// The targets with exactly this name, else the targets with this pid, else the targets whose names contain the text.
std::vector<WatchedTarget> matching(const std::vector<WatchedTarget>& targets, const std::string& wanted) {
    const std::string text = valid_utf8(wanted);
    const auto pid = parse_number(wanted);
    std::vector<WatchedTarget> found;
    const auto take = [&](const auto& matches) {
        if (found.empty()) std::ranges::copy_if(targets, std::back_inserter(found), matches);
    };
    take([&](const WatchedTarget& target) { return target.name == text; });
    take([&](const WatchedTarget& target) {
        return pid && target.pid && static_cast<std::uint64_t>(*target.pid) == *pid;
    });
    take([&](const WatchedTarget& target) { return target.name.find(text) != std::string::npos; });
    return found;
}

// Advice that lists the targets. Asks for the pid, too, if all names are the same.
std::string how_to_choose(const std::vector<WatchedTarget>& targets) {
    const bool same_names =
        std::ranges::all_of(targets, [&](const WatchedTarget& each) { return each.name == targets.front().name; });
    return fmt::format("name one with --target{}: {}", same_names ? " and its pid" : "", listed(targets));
}

}  // namespace

std::variant<WatchedTarget, AskFailure> choose_target(const std::vector<WatchedTarget>& targets,
                                                      const std::optional<std::string>& wanted) {
    if (targets.empty()) return AskFailure{plain_error("the running watcher has no target at the moment"), 1};
    if (!wanted) {
        if (are_one(targets)) return targets.front();
        return AskFailure{plain_error("several targets are watched", how_to_choose(targets)), 2};
    }
    const auto found = matching(targets, *wanted);
    if (found.empty())
        return AskFailure{plain_error("no watcher watches '" + *wanted + "'", "the targets are: " + listed(targets)),
                          2};
    if (are_one(found)) return found.front();
    return AskFailure{plain_error("'" + *wanted + "' matches several targets", how_to_choose(found)), 2};
}

std::variant<WatchedTarget, AskFailure> find_watcher(const SysRoot& root, const std::optional<std::string>& wanted) {
    const WatcherSockets sockets = find_watcher_sockets(root);
    if (sockets.alive.empty() && !sockets.forbidden.empty())
        return AskFailure{plain_error("a watcher is running, but you may not use its socket",
                                      "use sudo, or become a member of the group memscope")};
    if (sockets.alive.empty())
        return AskFailure{plain_error("no watcher is running", "start one: sudo memscope --cgroup NAME")};
    return choose_target(watched_targets(sockets), wanted);
}

std::variant<HttpResponse, AskFailure> ask_watcher(const SysRoot& root, const std::optional<std::string>& wanted,
                                                   const Question& question) {
    const auto chosen = find_watcher(root, wanted);
    if (const auto* failure = std::get_if<AskFailure>(&chosen)) return *failure;
    const auto& target = std::get<WatchedTarget>(chosen);
    std::string path = question.path + "?target=" + percent_encoded(target.name);
    for (const auto& [name, value] : question.parameters) path += fmt::format("&{}={}", name, percent_encoded(value));
    auto answer = http_get_unix(target.socket, path, question.patience);
    if (!answer) return AskFailure{answer.error()};
    return *std::move(answer);
}

}  // namespace memscope
