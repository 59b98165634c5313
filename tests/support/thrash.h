#pragma once
#include <cstddef>
#include <filesystem>

namespace memscope {

// A file of that size on a disk (not in memory), none of it in the page cache. The destructor removes it.
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

// Allocates that much memory in small pieces and marks each as no longer needed (MADV_FREE), but does not unmap it. The
// kernel can reclaim it when memory is short, without a disk or swap.
void touch_and_leave(std::size_t bytes);

// Touches pages like touch_and_leave(), again and again with one mapping, until the caller is killed.
[[noreturn]] void churn(std::size_t bytes);

}  // namespace memscope
