#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"

namespace memscope {

struct ListenAddress {
    std::string host{};      // numeric: "127.0.0.1", "::1"
    std::uint16_t port = 0;  // 0: any free port

    std::string text() const;  // "127.0.0.1:9750", "[::1]:9750"
};

// Refuses an address without a host, because it would listen on all networks, which must be a deliberate choice.
// `localhost` is 127.0.0.1. Refuses other names, because resolving them could hang.
Result<ListenAddress> parse_listen(std::string_view text);

Result<Fd> listen_on_tcp(const ListenAddress& address);
std::uint16_t port_of(const Fd& socket);

// Creates the directory of the socket if it is missing (mode 0755). The group `memscope`, if it exists, may use the
// socket.
Result<Fd> listen_on_unix(const fs::path& path);

}  // namespace memscope
