#include "web/browser_session.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sys/random.h>

#include "base/text.h"

namespace memscope::web {
namespace {

constexpr const char* kNoSession =
    "This page needs the link that memscope web has printed. The link works once; press Enter in the terminal of "
    "memscope web for another one.\n";

HttpResponse refuse(const char* sentence) { return {.status = 403, .body = sentence}; }

// A browser adds the header Origin to requests of scripts. For our own page it contains the host by which the browser
// has reached this server.
bool is_own_origin(const HttpRequest& request) {
    if (request.origins.empty()) return true;
    if (request.origins.size() > 1 || request.hosts.size() != 1) return false;
    return request.origins.front() == fmt::format("http://{}", trimmed(request.hosts.front()));
}

}  // namespace

Result<std::string> random_word() {
    std::array<unsigned char, 16> bytes{};
    for (std::size_t got = 0; got < bytes.size();) {
        const ssize_t n = ::getrandom(bytes.data() + got, bytes.size() - got, 0);
        if (n < 0 && errno != EINTR) return system_error(errno, "getrandom");
        if (n > 0) got += static_cast<std::size_t>(n);
    }
    std::string word;
    for (const unsigned char byte : bytes) word += fmt::format("{:02x}", byte);
    return word;
}

bool equal_secrets(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
    return difference == 0;
}

BrowserSession::BrowserSession(std::uint16_t port, std::function<void()> redeemed)
    : cookie_(fmt::format("memscope_session_{}", port)), redeemed_(std::move(redeemed)) {}

Result<std::string> BrowserSession::new_token() {
    auto token = random_word();
    if (!token) return token.error();
    const std::lock_guard lock(mutex_);
    token_ = *token;
    return token;
}

HttpResponse BrowserSession::redeem(const std::string& token) {
    auto secret = random_word();
    {
        const std::lock_guard lock(mutex_);
        if (!secret || !token_ || !equal_secrets(token, *token_)) return refuse(kNoSession);
        token_.reset();
        secrets_.push_back(*secret);
        if (secrets_.size() > kMostBrowsers) secrets_.pop_front();
    }
    if (redeemed_) redeemed_();
    return {.status = 303,
            .headers = {{"Location", "/"},
                        {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", cookie_, *secret)}}};
}

bool BrowserSession::knows(const HttpRequest& request) {
    const auto sent = request.cookies.find(cookie_);
    if (sent == request.cookies.end()) return false;
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(secrets_, [&](const std::string& each) { return equal_secrets(each, sent->second); });
}

std::optional<HttpResponse> BrowserSession::answer(const HttpRequest& request) {
    if (!is_own_origin(request)) return refuse("Requests of other web pages are refused.\n");
    const auto token = request.query("token");
    if (request.path == "/" && token) return redeem(*token);
    if (!knows(request)) return refuse(kNoSession);
    return std::nullopt;
}

}  // namespace memscope::web
