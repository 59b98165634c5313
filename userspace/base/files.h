#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

namespace fs = std::filesystem;

// Every absolute path the program reads from; tests put a fake tree here.
struct SysRoot {
    fs::path proc = "/proc";
    fs::path sys = "/sys";
    fs::path dev = "/dev";
    fs::path run = "/run/memscope";
};

// Reads at most `most` bytes: what a watched process controls has no other bound.
constexpr std::size_t kFileLimit = std::size_t{1} << 20;
Result<std::string> read_file(const fs::path& path, std::size_t most = kFileLimit);
Result<std::string> read_file_at(const Fd& directory, const char* name, std::size_t most = kFileLimit);
Result<Fd> open_directory(const fs::path& path);
Result<Fd> open_directory_at(const Fd& directory, const char* name);

// The process (EMFILE) or the machine (ENFILE) has no file descriptor left: says nothing about what was to be opened.
bool is_out_of_descriptors(const Error& error);

}  // namespace memscope
