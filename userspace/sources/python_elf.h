#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <tuple>

#include "base/fd.h"

namespace memscope {

class ElfFile;

// What a file that processes run has of CPython. Addresses are as the file's own headers count them.
struct PythonElf {
    std::uint64_t runtime = 0;  // _PyRuntime
    std::uint64_t load_address = 0;
    std::optional<std::uint64_t> version_address{};  // Py_Version: 3.11 and later
    std::optional<int> version_text{};               // from "python3.10" somewhere in it; where there is no Py_Version
};

std::optional<PythonElf> find_python_in(const ElfFile& file);  // nothing: no CPython in it

// Most files have no Python, and are asked for again with each process that runs them: the answer is kept while the
// file stays as it is.
class PythonElfCache {
  public:
    static constexpr std::size_t kLimit = 512;

    // The file and what fstat() said of it.
    std::optional<PythonElf> look(const Fd& file, const struct stat& status);
    std::optional<std::optional<PythonElf>> known(const struct stat& status);

  private:
    using Identity = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;  // changed when its time changes
    struct Entry {
        Identity identity;
        std::optional<PythonElf> found;
    };
    static Identity identity_of(const struct stat& status);

    std::list<Entry> entries_{};  // the latest first
    std::map<Identity, std::list<Entry>::iterator> by_identity_{};
};

}  // namespace memscope
