#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "outputs/http/http_message.h"
#include "outputs/http/listen.h"

namespace memscope {

// A host name as a Host header names it, in lower case and without the final dot. For the option --http-host.
Result<std::string> parse_host_name(std::string_view text);

// 127.0.0.0/8 (also as IPv4-mapped IPv6 addresses) and ::1.
bool is_loopback(const ListenAddress& address);

// Protects a TCP listener from DNS rebinding: a web page of evil.example lets its name resolve to 127.0.0.1, and then
// the browser takes our responses for pages of evil.example and lets its scripts read them. The browser sends that
// name in the Host header, so names that are not known are refused. Numeric addresses are safe: the attack needs a
// name.
class HostCheck {
  public:
    // `names` come from parse_host_name. `localhost` and numeric addresses are always allowed.
    HostCheck(const ListenAddress& address, std::vector<std::string> names);

    // The response that refuses the request; nullopt if the request may be answered.
    std::optional<HttpResponse> refusal(const HttpRequest& request) const;

  private:
    bool allows(std::string_view host) const;

    bool loopback_;
    std::vector<std::string> names_;
};

}  // namespace memscope
