#pragma once
#include <filesystem>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "outputs/listen_address.h"

namespace memscope {

Result<Fd> listen_on_tcp(const ListenAddress& address);
std::uint16_t port_of(const Fd& socket);

// A socket below a directory that is made if it is missing (0755). Group `memscope` may use it where there is one.
Result<Fd> listen_on_unix(const fs::path& path);

}  // namespace memscope
