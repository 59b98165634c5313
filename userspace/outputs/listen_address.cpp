#include "outputs/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

bool numeric(int family, const std::string& host) {
    in6_addr address{};  // the larger of the two
    return ::inet_pton(family, host.c_str(), &address) == 1;
}

}  // namespace

std::string ListenAddress::text() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<ListenAddress> parse_listen(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return plain_error(fmt::format("'{}' is not an address to listen on{}", shortened(text), why),
                           "write 127.0.0.1:9750, [::1]:9750 or none");
    };
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return refuse(": it has no port");
    const auto port = parse_number(text.substr(colon + 1));
    if (!port || *port > 65535) return refuse(": its port is not a number from 0 to 65535");
    std::string host(text.substr(0, colon));
    if (host.empty()) return refuse(": it has no host");
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    if (host.find('\0') != std::string::npos || !numeric(bracketed ? AF_INET6 : AF_INET, host))
        return refuse(": its host is not a numeric address");
    return ListenAddress{host, static_cast<std::uint16_t>(*port)};
}

}  // namespace memscope
