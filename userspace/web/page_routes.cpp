#include "web/page_routes.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "model/growth/growth_request.h"
#include "web/page_json.h"

namespace memscope::web {
namespace {

constexpr std::size_t kDefaultBins = 1000;

HttpResponse json(PageAnswer answer) {
    return {.status = answer.status, .content_type = "application/json", .body = std::move(answer.json)};
}

HttpResponse bad(const std::string& sentence) { return json({400, error_json(sentence)}); }

// A number of the query. `nullopt` if the query does not have it.
Result<std::optional<double>> number_of(const HttpRequest& request, const char* name) {
    const auto text = request.query(name);
    if (!text) return std::optional<double>();
    double number = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
    if (read.ec != std::errc() || read.ptr != text->data() + text->size() || !std::isfinite(number) ||
        std::abs(number) > 1e12)
        return plain_error(fmt::format("{} must be a number", name));
    return std::optional(number);
}

HttpResponse run(const PageData& data, const HttpRequest&) { return json(data.run()); }

HttpResponse curves(const PageData& data, const HttpRequest& request) {
    const auto from = number_of(request, "from"), to = number_of(request, "to"), width = number_of(request, "width");
    for (const auto* each : {&from, &to, &width})
        if (!*each) return bad(each->error().message());
    if (*from && *to && **from > **to) return bad("from must not be after to");
    const double bins = width->value_or(static_cast<double>(kDefaultBins));
    if (bins < static_cast<double>(PageData::kLeastBins) || bins > static_cast<double>(PageData::kMostBins))
        return bad(fmt::format("width must be a number from {} to {}", PageData::kLeastBins, PageData::kMostBins));
    return json(data.curves(*from, *to, static_cast<std::size_t>(bins)));
}

HttpResponse tick(const PageData& data, const HttpRequest& request) {
    const auto at = number_of(request, "at");
    return at ? json(data.tick(*at)) : bad(at.error().message());
}

// HttpResponse::later, because the watcher may have to load symbols first.
HttpResponse growth(const PageData& data, const HttpRequest& request) {
    const auto at = number_of(request, "at");
    if (!at) return bad(at.error().message());
    const std::string since = request.query("since").value_or("start");
    GrowthRequest asked;
    if (const auto read = parse_since(since, asked); !read) return bad("since: " + read.error().message());
    return {.later = [&data, at = *at, since] { return json(data.growth(at, since)); }};
}

// HttpResponse::later, because a census takes seconds.
HttpResponse heap(const PageData& data, const HttpRequest& request) {
    const auto at = number_of(request, "at");
    if (!at) return bad(at.error().message());
    return {.later = [&data, at = *at, take = request.query("take") == "1"] { return json(data.heap(at, take)); }};
}

HttpResponse live(const PageData& data, const HttpRequest& request) {
    const auto after = number_of(request, "after");
    return after ? json(data.live(after->value_or(0))) : bad(after.error().message());
}

struct Route {
    std::string_view path;
    HttpResponse (*answer)(const PageData&, const HttpRequest&);
};
constexpr Route kRoutes[] = {{"/api/run", run},       {"/api/curves", curves}, {"/api/tick", tick},
                             {"/api/growth", growth}, {"/api/heap", heap},     {"/api/live", live}};

HttpResponse file(const PageFiles& files, const HttpRequest& request) {
    const PageFiles::File* found = files.find(request.path == "/" ? "index.html" : request.path.substr(1));
    if (!found || request.path == "/index.html") return {.status = 404, .body = "not found\n"};
    HttpResponse response{.content_type = found->type, .body = found->content};
    if (request.accepts_gzip && !found->gzip.empty()) {
        response.body = found->gzip;
        response.headers = {{"Content-Encoding", "gzip"}};
    }
    return response;
}

HttpResponse route(const PageFiles& files, const PageData& data, const HttpRequest& request) {
    for (const Route& each : kRoutes)
        if (each.path == request.path) return each.answer(data, request);
    if (request.path.starts_with("/api/")) return json({404, error_json("this path has no data")});
    return file(files, request);
}

// The page may load nothing from other servers, and no other page may embed it or read its answers.
void add_security_headers(HttpResponse& response) {
    const std::pair<const char*, const char*> headers[] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri "
         "'none'; form-action 'none'; frame-ancestors 'none'"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"}};
    for (const auto& [name, value] : headers) response.headers.emplace_back(name, value);
}

}  // namespace

HttpHandler make_page_routes(const PageFiles& files, const PageData& data, BrowserSession& session) {
    return [&](const HttpRequest& request) {
        auto refused = session.answer(request);
        if (refused && request.path.starts_with("/api/"))
            refused = json({refused->status, error_json(trimmed(refused->body))});
        HttpResponse response = refused ? *std::move(refused) : route(files, data, request);
        if (response.later)
            response.later = [make = std::move(response.later)] {
                HttpResponse made = make();
                add_security_headers(made);
                return made;
            };
        add_security_headers(response);
        return response;
    };
}

}  // namespace memscope::web
