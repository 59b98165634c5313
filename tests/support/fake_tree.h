#pragma once
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace memscope {

// A directory tree from one initializer, below a temporary directory. The destructor removes it:
//   FakeTree tree{{"proc/meminfo", "MemTotal: 1 kB\n"}, {"cgroup/a/", ""}};
// A name that ends in a slash is an empty directory.
class FakeTree {
  public:
    using File = std::pair<std::string_view, std::string_view>;
    FakeTree(std::initializer_list<File> files = {});
    FakeTree(const FakeTree&) = delete;
    FakeTree& operator=(const FakeTree&) = delete;
    ~FakeTree();

    std::filesystem::path at(std::string_view name) const { return top_ / name; }
    SysRoot root() const { return {.proc = at("proc"), .sys = at("sys"), .run = at("run")}; }
    void add(std::initializer_list<File> files);  // or change
    void write(std::string_view name, std::string_view text);
    void remove(std::string_view name);  // with all below it

  private:
    std::filesystem::path top_;
};

}  // namespace memscope
