#pragma once
#include <fcntl.h>
#include <stdexcept>
#include <sys/resource.h>

namespace memscope {

// Lowers the limit of open files of the calling process, until the end of its scope.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t most) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit lowered{most, before_.rlim_max};
        if (::setrlimit(RLIMIT_NOFILE, &lowered) != 0) throw std::runtime_error("setrlimit");
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;
    ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

// The limit of open files with which exactly `more` further descriptors can be opened.
inline rlim_t room_for(rlim_t more) {
    rlim_t most = 0;
    for (;; ++most)
        if (::fcntl(static_cast<int>(most), F_GETFD) == -1 && more-- == 0) return most;
}

}  // namespace memscope
