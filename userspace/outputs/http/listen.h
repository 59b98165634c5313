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
    std::uint16_t port = 0;  // 0: any free one

    std::string text() const;  // "127.0.0.1:9750", "[::1]:9750"
};

// An address without a host is refused: it would listen to the whole network, and nobody means that by accident.
// `localhost` is 127.0.0.1; other names are refused, since resolving them could hang.
Result<ListenAddress> parse_listen(std::string_view text);

Result<Fd> listen_on_tcp(const ListenAddress& address);
std::uint16_t port_of(const Fd& socket);

// A socket below a directory that is made if it is missing (0755). Group `memscope` may use it where there is one.
Result<Fd> listen_on_unix(const fs::path& path);

}  // namespace memscope
