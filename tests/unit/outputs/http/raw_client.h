#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"

// HTTP by hand, to send what no client library would.
namespace memscope::test {

Fd connected(std::uint16_t port);  // closed if nobody listens
void send_text(const Fd& socket, std::string_view text);
std::string received(const Fd& socket);  // until the other side closes
std::string raw_exchange(std::uint16_t port, const std::string& request);
std::string get(std::uint16_t port, const std::string& path, const std::string& method = "GET");
int status_of(const std::string& answer);  // 0: there is none

}  // namespace memscope::test
