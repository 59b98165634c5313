#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

namespace fs = std::filesystem;

// All absolute paths from which the program reads. Tests put a fake tree here.
struct SysRoot {
    fs::path proc = "/proc";
    fs::path sys = "/sys";
    fs::path dev = "/dev";
    fs::path run = "/run/memscope";
};

// Reads at most `most` bytes, because a watched process can make its files arbitrarily long.
constexpr std::size_t kFileLimit = std::size_t{1} << 20;
Result<std::string> read_file(const fs::path& path, std::size_t most = kFileLimit);
Result<std::string> read_file_at(const Fd& directory, const char* name, std::size_t most = kFileLimit);
Result<Fd> open_directory(const fs::path& path);
Result<Fd> open_directory_at(const Fd& directory, const char* name);

// The process (EMFILE) or the host (ENFILE) has no file descriptor left. The error says nothing about the file itself.
bool is_out_of_descriptors(const Error& error);

}  // namespace memscope
