#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "outputs/http/http_message.h"

namespace memscope::web {

// Decides which browsers may read the page. Loopback is no access control, because every user of the machine can
// connect to it. So the program prints a link with a random token. The token works once: the browser gets a cookie for
// it. After that, a copy of the link in the history, in a log or in the list of processes is worthless.
class BrowserSession {
  public:
    static constexpr std::size_t kMostBrowsers = 16;  // a further browser ends the oldest session

    // `port`: browsers send cookies to all ports of a host, so the name of the cookie contains the port.
    // `redeemed` is called, from any thread, when a browser has used a token.
    explicit BrowserSession(std::uint16_t port, std::function<void()> redeemed = {});

    // A token for another browser. The previous token does not work any more. From any thread.
    Result<std::string> new_token();

    // The answer to a request that must not reach the page: a token that is redeemed, a wrong token, no cookie, or a
    // request that another web page has caused. `nullopt`: the request may be answered. From any thread.
    std::optional<HttpResponse> answer(const HttpRequest& request);

  private:
    HttpResponse redeem(const std::string& token);
    bool knows(const HttpRequest& request);

    std::string cookie_;
    std::function<void()> redeemed_;
    std::mutex mutex_{};
    std::optional<std::string> token_{};
    std::deque<std::string> secrets_{};  // of browsers, oldest first
};

// 128 random bits as 32 hexadecimal digits.
Result<std::string> random_word();
// Compares in a time that does not depend on where the texts differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace memscope::web
