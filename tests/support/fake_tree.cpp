#include "support/fake_tree.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace memscope {

FakeTree::FakeTree(std::initializer_list<File> files) {
    std::string name = (std::filesystem::temp_directory_path() / "memscope-test-XXXXXX").native();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp " + name);
    top_ = name;
    add(files);
}

FakeTree::~FakeTree() {
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
}

void FakeTree::add(std::initializer_list<File> files) {
    for (const auto& [name, text] : files) write(name, text);
}

void FakeTree::write(std::string_view name, std::string_view text) {
    const auto path = at(name);
    std::filesystem::create_directories(path.parent_path());
    if (name.ends_with('/')) return;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    if (!file.flush()) throw std::runtime_error("write " + path.native());
}

void FakeTree::remove(std::string_view name) { std::filesystem::remove_all(at(name)); }

}  // namespace memscope
