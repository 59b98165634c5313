#pragma once
#include <cstddef>
#include <filesystem>

namespace memscope {

// A file of that size on a disk (not in memory), none of it in the page cache; goes with this object.
class ColdFile {
  public:
    explicit ColdFile(std::size_t bytes);
    ColdFile(const ColdFile&) = delete;
    ColdFile& operator=(const ColdFile&) = delete;
    ~ColdFile();

    void read() const;  // all of it, once, into the page cache of the calling process's cgroup

  private:
    std::filesystem::path path_;
};

// Takes that much memory in small pieces and says of each that its content is no longer needed, but does not give it
// back: the kernel may take it when memory is short, without a disk or swap.
void touch_and_leave(std::size_t bytes);

// The same with one stretch of memory, over and over, until the caller is killed.
[[noreturn]] void churn(std::size_t bytes);

}  // namespace memscope
