#include "outputs/http/http_client.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/deadline.h"
#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

Result<Fd> connect_unix(const fs::path& path, Seconds timeout) {
    const std::string where = "connect to " + path.string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof address.sun_path) return system_error(ENAMETOOLONG, where);
    std::memcpy(address.sun_path, path.c_str(), path.native().size());
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return system_error(errno, where);
    // connect() to a Unix socket blocks while the queue of the listener is full, and poll() does not report when it
    // has room again.
    const auto whole = static_cast<time_t>(timeout.count());
    const auto micro = static_cast<suseconds_t>((timeout.count() - static_cast<double>(whole)) * 1e6);
    const timeval limit{whole, whole == 0 ? std::max<suseconds_t>(micro, 1) : micro};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return system_error(errno == EAGAIN ? ETIMEDOUT : errno, where);
    return socket;
}

Status send_all(const Fd& socket, std::string_view bytes, const Deadline& deadline) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            bytes.remove_prefix(static_cast<std::size_t>(n));
        else if (errno == EAGAIN && deadline.wait_for(socket.get(), POLLOUT) == Deadline::Wait::expired)
            return system_error(ETIMEDOUT, "send the request");
        else if (errno != EAGAIN && errno != EINTR)
            return system_error(errno, "send the request");
    }
    return Done{};
}

Result<std::string> receive_all(const Fd& socket, const Deadline& deadline) {
    std::string bytes;
    char buffer[65536];
    for (;;) {
        if (deadline.wait_for(socket.get(), POLLIN) == Deadline::Wait::expired)
            return system_error(ETIMEDOUT, "read the response");
        const ssize_t n = ::recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n == 0) return bytes;
        if (n > 0)
            bytes.append(buffer, static_cast<std::size_t>(n));
        else if (errno != EINTR && errno != EAGAIN)
            return system_error(errno, "read the response");
        if (bytes.size() > kMostBytes) return system_error(EMSGSIZE, "read the response");
    }
}

bool is_header(std::string_view line, std::string_view name) {
    return line.size() > name.size() && line[name.size()] == ':' &&
           std::equal(name.begin(), name.end(), line.begin(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

}  // namespace

Result<HttpResponse> parse_http_response(std::string_view bytes) {
    const auto end = bytes.find("\r\n\r\n");
    const auto broken = plain_error("the answer is not HTTP, or it is incomplete");
    if (end == std::string_view::npos || !bytes.starts_with("HTTP/1.") || bytes.size() < 12) return broken;
    const auto status = parse_number(bytes.substr(9, 3));
    if (!status) return broken;
    HttpResponse response{.status = static_cast<int>(*status), .body = std::string(bytes.substr(end + 4))};
    bool whole = true;
    for_each_line(bytes.substr(0, end), [&](std::string_view line) {
        const auto value = trimmed(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
        if (is_header(line, kNoteHeader)) response.note = value;
        if (is_header(line, "content-type")) response.content_type = value;
        if (is_header(line, "content-length")) whole = whole && parse_number(value) == response.body.size();
        if (is_header(line, "transfer-encoding")) whole = false;  // our servers always send Content-Length
    });
    if (!whole) return broken;
    return response;
}

Result<HttpResponse> http_get_unix(const fs::path& path, const std::string& path_and_query, Seconds timeout) {
    const bool sane = path_and_query.starts_with("/") &&
                      std::ranges::all_of(path_and_query, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
    if (!sane) return plain_error("not a valid request: " + path_and_query, "percent-encode its query");
    const auto deadline = Deadline::in(timeout);
    if (!deadline) return deadline.error();
    const auto socket = connect_unix(path, timeout);
    if (!socket) return socket.error();
    const auto request = fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path_and_query);
    if (const auto sent = send_all(*socket, request, *deadline); !sent) return sent.error();
    const auto bytes = receive_all(*socket, *deadline);
    if (!bytes) return bytes.error();
    return parse_http_response(*bytes);
}

std::string percent_encoded(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80 && (std::isalnum(byte) || std::strchr("-._~", c)) && c != '\0')
            out += c;
        else
            out += fmt::format("%{:02X}", byte);
    }
    return out;
}

}  // namespace memscope
