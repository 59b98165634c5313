#include "raw_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>

namespace memscope::test {

Fd connected(std::uint16_t port) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{20, 0};  // a hanging server fails the test instead of hanging it
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return Fd();
    return socket;
}

void send_text(const Fd& socket, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
        if (n <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

std::string received(const Fd& socket) {
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
        all.append(buffer, static_cast<std::size_t>(n));
    return all;
}

std::string raw_exchange(std::uint16_t port, const std::string& request) {
    const Fd socket = connected(port);
    send_text(socket, request);
    return received(socket);
}

std::string get(std::uint16_t port, const std::string& path, const std::string& method) {
    return raw_exchange(port, method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

int status_of(const std::string& answer) { return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3)); }

}  // namespace memscope::test
