#include "cli/ask_watcher.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/encodedstream.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <set>

#include "base/text.h"
#include "outputs/http/http_client.h"
#include "watch/self/rendezvous.h"

namespace memscope {
namespace {

constexpr Seconds kPatience{5};  // timeout of the request for the names of the targets

// The names in {"targets":["train",...]}.
class Names : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Names> {
  public:
    bool Key(const char* data, rapidjson::SizeType size, bool) {
        if (depth_ == 1) of_targets_ = std::string_view(data, size) == "targets";
        return true;
    }
    bool String(const char* data, rapidjson::SizeType size, bool) {
        if (depth_ == 2 && in_list_) names.emplace_back(data, size);
        return true;
    }
    bool StartObject() {
        ++depth_;
        return true;
    }
    bool EndObject(rapidjson::SizeType) {
        --depth_;
        return true;
    }
    bool StartArray() {
        if (++depth_ == 2) in_list_ = of_targets_;
        return true;
    }
    bool EndArray(rapidjson::SizeType) {
        if (depth_-- == 2) in_list_ = false;
        return true;
    }

    std::vector<std::string> names{};

  private:
    int depth_ = 0;
    bool of_targets_ = false;  // the latest key of the outermost object is "targets"
    bool in_list_ = false;
};

// Empty if the text is not JSON. The parser is iterative, because any process that can create a socket in the directory
// could send deeply nested JSON.
std::vector<std::string> names_in(const std::string& json) {
    Names names;
    rapidjson::MemoryStream stream(json.data(), json.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> input(stream);
    rapidjson::Reader reader;
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
    if (reader.Parse<kFlags>(input, names).IsError()) return {};
    return std::move(names.names);
}

std::vector<WatchedTarget> watched_targets(const Sockets& sockets) {
    std::vector<WatchedTarget> targets;
    for (const fs::path& socket : sockets.alive) {
        const auto answer = http_get_unix(socket, "/api/v1/targets", kPatience);
        if (!answer || answer->status != 200) continue;  // the watcher has just ended
        for (std::string& name : names_in(answer->body)) targets.push_back({std::move(name), socket});
    }
    return targets;
}

std::string listed(const std::vector<WatchedTarget>& targets) {
    std::set<std::string> names;
    for (const WatchedTarget& target : targets) names.insert("'" + target.name + "'");
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::variant<WatchedTarget, AskFailure> choose_target(const std::vector<WatchedTarget>& targets,
                                                      const std::optional<std::string>& wanted) {
    if (targets.empty()) return AskFailure{plain_error("the running watcher has no target at the moment"), 1};
    if (wanted) {
        const auto found =
            std::find_if(targets.begin(), targets.end(),
                         [shown = valid_utf8(*wanted)](const WatchedTarget& target) { return target.name == shown; });
        if (found != targets.end()) return *found;
        return AskFailure{plain_error("no watcher watches '" + *wanted + "'", "the targets are: " + listed(targets)),
                          2};
    }
    const bool same = std::all_of(targets.begin(), targets.end(),
                                  [&](const WatchedTarget& target) { return target.name == targets.front().name; });
    if (same) return targets.front();
    return AskFailure{plain_error("several targets are watched", "name one with --target: " + listed(targets)), 2};
}

std::variant<WatchedTarget, AskFailure> find_watcher(const SysRoot& root, const std::optional<std::string>& wanted) {
    const Sockets sockets = find_sockets(root);
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
