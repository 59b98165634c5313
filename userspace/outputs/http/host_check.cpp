#include "outputs/http/host_check.h"

#include <algorithm>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <utility>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kLongestName = 253;  // characters of a DNS name

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_character(char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '-' || c == '.' || c == '_';
}

// Upper and lower case are equal in DNS names. A final dot only marks the name as complete.
std::string normalized(std::string_view name) {
    if (name.size() > 1 && name.ends_with('.')) name.remove_suffix(1);
    std::string text(name);
    std::ranges::transform(text, text.begin(), lower);
    return text;
}

// inet_pton takes only the forms that browsers put into a Host header: it refuses 127.1 and 0x7f000001.
bool is_address(int family, std::string_view text) {
    in6_addr address{};  // the larger of the two
    return text.find('\0') == std::string_view::npos && ::inet_pton(family, std::string(text).c_str(), &address) == 1;
}

// Host header without its port, whose number does not matter: a tunnel or a proxy can have another one.
std::string_view without_port(std::string_view host) {
    const auto colon = host.rfind(':');
    if (colon == std::string_view::npos || !std::ranges::all_of(host.substr(colon + 1), is_digit)) return host;
    return host.substr(0, colon);
}

// Prometheus scrapes these paths by the name of the node. They contain no command lines and no code, and a user who
// listens on a network address has already made them public there.
bool is_for_any_name(std::string_view path) { return path == "/metrics" || path == "/-/healthy" || path == "/-/ready"; }

}  // namespace

bool is_loopback(const ListenAddress& address) {
    in_addr v4{};
    in6_addr v6{};
    if (::inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
    if (::inet_pton(AF_INET6, address.host.c_str(), &v6) != 1) return false;
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

Result<std::string> parse_host_name(std::string_view text) {
    std::string name = normalized(text);
    const bool valid =
        !name.empty() && name != "." && name.size() <= kLongestName && std::ranges::all_of(name, is_name_character);
    if (!valid)
        return plain_error(fmt::format("'{}' is not a host name", shortened(printable(text))),
                           "write the name alone, without port, as in node7.cluster.example");
    return name;
}

HostCheck::HostCheck(const ListenAddress& address, std::vector<std::string> names)
    : loopback_(is_loopback(address)), names_(std::move(names)) {
    names_.emplace_back("localhost");
}

bool HostCheck::allows(std::string_view host) const {
    if (is_address(AF_INET6, host)) return true;  // without brackets, so the text after the last colon is not a port
    const std::string_view name = without_port(host);
    if (name.starts_with('[') && name.ends_with(']')) return is_address(AF_INET6, name.substr(1, name.size() - 2));
    return is_address(AF_INET, name) || std::ranges::find(names_, normalized(name)) != names_.end();
}

std::optional<HttpResponse> HostCheck::refusal(const HttpRequest& request) const {
    // RFC 9112, section 3.2. Every browser sends one Host header, so a request of HTTP/1.0 without
    // it is not from a web page.
    if (request.hosts.size() > 1) return HttpResponse{.status = 400, .body = "more than one Host header\n"};
    if (request.hosts.empty()) {
        if (request.version == "HTTP/1.0") return std::nullopt;
        return HttpResponse{.status = 400, .body = "no Host header\n"};
    }
    const std::string_view host = trimmed(request.hosts.front());  // libmicrohttpd keeps spaces at the end
    if ((!loopback_ && is_for_any_name(request.path)) || allows(host)) return std::nullopt;
    return HttpResponse{
        .status = 421,
        .body = fmt::format("the Host header '{}' names no host that memscope knows; use a numeric address or "
                            "localhost, or start memscope with --http-host NAME\n",
                            shortened(printable(host)))};
}

}  // namespace memscope
