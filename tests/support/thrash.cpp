#include "support/thrash.h"

#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "base/fd.h"
#include "support/child.h"

namespace memscope {
namespace {

constexpr std::size_t kPiece = 1 << 20;

void must(bool done, const char* what) {
    if (!done) throw std::runtime_error(what);
}

}  // namespace

ColdFile::ColdFile(std::size_t bytes) : path_("/var/tmp/memscope-test-" + std::to_string(::getpid())) {
    const Fd file(::open(path_.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600));
    must(static_cast<bool>(file), "make a file");
    const std::vector<char> piece(kPiece, 'x');
    for (std::size_t written = 0; written < bytes; written += kPiece)
        must(::write(file.get(), piece.data(), kPiece) == static_cast<ssize_t>(kPiece), "write a file");
    must(::fsync(file.get()) == 0, "sync a file");
    must(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) == 0, "drop the page cache of a file");
}

ColdFile::~ColdFile() { ::unlink(path_.c_str()); }

void ColdFile::read() const {
    const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<char> piece(kPiece);
    while (::read(file.get(), piece.data(), kPiece) > 0) {
    }
}

void touch_and_leave(std::size_t bytes) {
    for (std::size_t touched = 0; touched < bytes; touched += kPiece)
        must(::madvise(touch(kPiece), kPiece, MADV_FREE) == 0, "madvise");
}

void churn(std::size_t bytes) {
    auto* const stretch = static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    must(stretch != MAP_FAILED, "mmap");
    for (std::size_t at = 0;; at = (at + kPiece) % bytes) {
        std::memset(stretch + at, 1, kPiece);
        must(::madvise(stretch + at, kPiece, MADV_FREE) == 0, "madvise");
    }
}

}  // namespace memscope
