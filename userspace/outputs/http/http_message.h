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
    std::string note{};  // one printable line, for what the body's format has no place for
    // Further headers, in addition to those of every answer. Names and values are our own, never data of a request.
    std::vector<std::pair<std::string, std::string>> headers{};
    // Makes the answer, where that takes longer than others should wait: the server calls it in another thread. The
    // other fields mean nothing then.
    std::function<HttpResponse()> later{};
};

struct HttpRequest {
    std::string path{};                               // decoded, without the query
    std::map<std::string, std::string> parameters{};  // of the query, decoded; any bytes
    std::string version{};                            // "HTTP/1.1"
    std::vector<std::string> hosts{};                 // values of all Host headers; any bytes
    std::vector<std::string> origins{};               // values of all Origin headers; any bytes
    std::map<std::string, std::string> cookies{};     // of several with one name the first; any bytes
    bool accepts_gzip = false;                        // of the header Accept-Encoding

    std::optional<std::string> query(const std::string& name) const {
        const auto found = parameters.find(name);
        return found == parameters.end() ? std::nullopt : std::optional(found->second);
    }
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

}  // namespace memscope
