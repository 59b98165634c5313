#include "outputs/http/listen.h"

#include <arpa/inet.h>
#include <cstring>
#include <fmt/format.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

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

namespace {

constexpr int kBacklog = 512;  // a client that finds the queue full retries after a second

union SocketAddress {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
};

socklen_t fill(SocketAddress& out, const ListenAddress& address) {
    std::memset(&out, 0, sizeof out);
    if (address.host.find(':') == std::string::npos) {
        out.v4.sin_family = AF_INET;
        out.v4.sin_port = htons(address.port);
        return ::inet_pton(AF_INET, address.host.c_str(), &out.v4.sin_addr) == 1 ? sizeof out.v4 : 0;
    }
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(address.port);
    return ::inet_pton(AF_INET6, address.host.c_str(), &out.v6.sin6_addr) == 1 ? sizeof out.v6 : 0;
}

Result<Fd> open_socket(int family) {
    Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return system_error(errno, "socket");
    return socket;
}

// A watcher that was killed leaves its socket file behind. Connecting to it is refused.
bool is_stale(const sockaddr_un& address) {
    struct stat file{};
    if (::lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
    const auto probe = open_socket(AF_UNIX);
    return probe && ::connect(probe->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
           errno == ECONNREFUSED;
}

Status make_directory(const fs::path& directory) {
    if (directory.empty()) return Done{};
    std::error_code error;
    const bool made = fs::create_directories(directory, error);
    if (error) return Error{error, "make directory " + directory.string(), "run as root"};
    // The umask may have removed bits, but the group must be able to enter the directory.
    if (made && ::chmod(directory.c_str(), 0755) != 0) return system_error(errno, "chmod " + directory.string());
    return Done{};
}

}  // namespace

Result<Fd> listen_on_tcp(const ListenAddress& address) {
    const std::string where = "listen " + address.text();
    const std::string advice = "choose another address with --listen, or none with --listen none";
    SocketAddress to;
    const socklen_t length = fill(to, address);
    if (length == 0) return system_error(EINVAL, where, advice);
    auto socket = open_socket(to.any.sa_family);
    if (!socket) return system_error(socket.error().code.value(), where, advice);
    const int on = 1;  // without it a restart has to wait until the old connections time out
    ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket->get(), &to.any, length) != 0 || ::listen(socket->get(), kBacklog) != 0)
        return system_error(errno, where, advice);
    return socket;
}

std::uint16_t port_of(const Fd& socket) {
    SocketAddress address;
    std::memset(&address, 0, sizeof address);
    socklen_t length = sizeof address;
    if (::getsockname(socket.get(), &address.any, &length) != 0) return 0;
    if (address.any.sa_family == AF_INET) return ntohs(address.v4.sin_port);
    return address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port) : 0;
}

Result<Fd> listen_on_unix(const fs::path& path) {
    const std::string where = "listen on " + path.string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof address.sun_path) return system_error(ENAMETOOLONG, where);
    std::memcpy(address.sun_path, path.c_str(), path.native().size());
    if (const auto made = make_directory(path.parent_path()); !made) return made.error();
    auto socket = open_socket(AF_UNIX);
    if (!socket) return system_error(socket.error().code.value(), where);
    // The file gets the mode that its socket has before bind, so other users can never open it. The umask is not an
    // option, because all threads share it.
    if (::fchmod(socket->get(), 0600) != 0) return system_error(errno, where);
    const auto bind = [&] {
        return ::bind(socket->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    };
    int error = bind() == 0 ? 0 : errno;
    if (error == EADDRINUSE && is_stale(address) && ::unlink(path.c_str()) == 0) error = bind() == 0 ? 0 : errno;
    if (error != 0) return system_error(error, where);
    // If we may not change the group, the file keeps our own group.
    if (const group* memscope = ::getgrnam("memscope"))
        if (::chown(path.c_str(), static_cast<uid_t>(-1), memscope->gr_gid) != 0) errno = 0;
    if (::chmod(path.c_str(), 0660) != 0 || ::listen(socket->get(), kBacklog) != 0) {
        error = errno;
        ::unlink(path.c_str());
        return system_error(error, where);
    }
    return socket;
}

}  // namespace memscope
