#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace memscope {

inline constexpr const char* kNoteHeader = "X-Memscope-Note";

struct HttpResponse {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body{};
    std::string note{};  // one printable line that has no place in the format of the body
    // Further headers, in addition to those of every answer. Names and values are our own, never data of a request.
    std::vector<std::pair<std::string, std::string>> headers{};
    // Set if making the answer takes too long for the thread of the server: the server calls it in another thread, and
    // ignores the other fields.
    std::function<HttpResponse()> later{};
    // `later` can take a minute, because it waits for a helper process. Slow answers have a thread of their own, so
    // that they do not delay the other late ones.
    bool slow = false;
};

struct HttpRequest {
    std::string path{};                               // decoded, without the query
    std::map<std::string, std::string> parameters{};  // of the query, decoded; any bytes
    std::string version{};                            // "HTTP/1.1"
    std::vector<std::string> hosts{};                 // values of all Host headers; any bytes
    std::vector<std::string> origins{};               // values of all Origin headers; any bytes
    std::map<std::string, std::string> cookies{};     // if several have one name: the first; any bytes
    bool accepts_gzip = false;                        // of the header Accept-Encoding

    std::optional<std::string> query(const std::string& name) const {
        const auto found = parameters.find(name);
        return found == parameters.end() ? std::nullopt : std::optional(found->second);
    }
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

}  // namespace memscope
