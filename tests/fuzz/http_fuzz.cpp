// Answers on a watcher's socket, and requests that any client can send to its port.
#include <algorithm>

#include "base/text.h"
#include "fuzz.h"
#include "outputs/http/host_check.h"
#include "outputs/http/http_client.h"
#include "outputs/http/routes.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    if (const auto response = parsed(parse_http_response(bytes)))
        require(response->status >= 0 && response->status <= 999 && bytes.ends_with(response->body),
                "a response holds what came");
    const std::string encoded = percent_encoded(bytes);
    for (const char c : encoded)
        require(c > 0x20 && c < 0x7F && std::strchr("/?#&=+", c) == nullptr, "an encoded value stays one value",
                encoded);

    // Letters after f stand in no numeric address, so a Host header with one must begin with a known name.
    static const HostCheck check({"127.0.0.1", 9750}, {"node7"});
    const HttpRequest from_browser{.path = "/metrics", .version = "HTTP/1.1", .hosts = {std::string(bytes)}};
    if (const auto refusal = check.refusal(from_browser))
        require(refusal->status == 421 && is_clean(refusal->body, '\n'), "a refusal is clean text", refusal->body);
    else if (std::ranges::any_of(bytes, [](char c) { return (c | 0x20) > 'f' && (c | 0x20) <= 'z'; }))
        require((trimmed(bytes)[0] | 0x20) == 'l' || (trimmed(bytes)[0] | 0x20) == 'n', "a foreign name is refused",
                bytes);
    if (const auto name = parsed(parse_host_name(bytes)))
        require(!HostCheck({"127.0.0.1", 9750}, {*name}).refusal(from_browser), "a name that was given is answered",
                *name);

    static const auto latest_snapshot = [] {
        auto made = std::make_unique<LatestSnapshot>();
        auto snapshot = std::make_shared<Snapshot>();
        snapshot->targets.resize(2);
        snapshot->targets[0].info.name = "train\xff";
        snapshot->targets[1].info.name = "job\n1";
        made->publish(std::move(snapshot));
        return made;
    }();
    Input input(bytes);
    HttpRequest request;
    request.path = "/api/v1/" + std::string(input.take(input.number() % 16));
    if (input.flag()) request.path = input.text();
    if (input.flag()) request.parameters["target"] = std::string(input.rest());
    for (const bool status : {false, true}) {
        const HttpResponse answer = make_routes(*latest_snapshot, {.status = status})(request);
        require(answer.status == 200 || answer.status == 400 || answer.status == 404, "a request is answered");
        require(is_clean(answer.body, '\n'), "an answer is clean text", answer.body);
    }
}

}  // namespace memscope::fuzz
