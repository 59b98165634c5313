// A process that blocks its readers.
//   blocking_process userfaultfd     looks like CPython; its memory is backed by a userfaultfd that is never answered
//   blocking_process mmap_lock DIR   holds its own mmap_lock for ever: then reading its maps, its command line or its
//                                    pages blocks. DIR becomes the mount point of a FUSE file system in a mount
//                                    namespace of its own. With LIBRARY as a further word: maps it to be executed, and
//                                    holds the lock for 30 s at most, because fork() of the whole machine waits for
//                                    the process that attaches a probe to LIBRARY meanwhile
// Prints "blocks" when it blocks, "cannot: WHY" if this machine does not allow it. Then waits to be killed.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

extern "C" {
// In .bss, so it is anonymous memory, which is not present before it is touched.
alignas(65536) char _PyRuntime[65536];  // NOLINT: memscope finds it by its name
}

namespace {

[[noreturn]] void cannot(const char* what) {
    std::printf("cannot: %s: %s\n", what, std::strerror(errno));
    std::fflush(stdout);
    _exit(2);
}

// memscope reads Python frames when memory grows.
void grow() {
    constexpr std::size_t kBytes = 8 << 20;
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) cannot("grow");
    std::memset(memory, 1, kBytes);
}

[[noreturn]] void wait_to_be_ended() {
    std::puts("blocks");
    std::fflush(stdout);
    for (;;) pause();
}

void block_with_userfaultfd() {
    const int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0) cannot("userfaultfd");
    uffdio_register wanted{.range = {reinterpret_cast<__u64>(_PyRuntime), sizeof _PyRuntime},
                           .mode = UFFDIO_REGISTER_MODE_MISSING,
                           .ioctls = 0};
    if (ioctl(fd, UFFDIO_REGISTER, &wanted) != 0) cannot("register memory with userfaultfd");
}

constexpr std::size_t kFileBytes = 8192;
constexpr __u64 kFile = 2;

fuse_attr attributes(__u64 node) {
    fuse_attr is{};
    is.ino = node;
    is.mode = node == kFile ? S_IFREG | 0777 : S_IFDIR | 0755;
    is.nlink = 1;
    is.size = kFileBytes;
    is.blksize = 4096;
    return is;
}

template <class Answer>
void answer(int fuse, __u64 to, const Answer& said, std::size_t bytes = sizeof(Answer)) {
    fuse_out_header head{static_cast<__u32>(sizeof head + bytes), 0, to};
    const iovec parts[] = {{&head, sizeof head}, {const_cast<Answer*>(&said), bytes}};
    [[maybe_unused]] const auto n = writev(fuse, parts, 2);
}

// One file of zeros. Writing it back blocks for ever.
[[noreturn]] void serve(int fuse, unsigned most_seconds) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(most_seconds);
    static char request[1 << 20];
    static const struct {
        char bytes[kFileBytes];
    } zeros{};
    while (read(fuse, request, sizeof request) > 0) {
        fuse_in_header head{};
        std::memcpy(&head, request, sizeof head);
        switch (head.opcode) {
            case FUSE_INIT: {
                fuse_init_out init{};
                init.major = FUSE_KERNEL_VERSION;
                init.minor = 31;
                init.max_write = 65536;
                init.flags = FUSE_WRITEBACK_CACHE;
                answer(fuse, head.unique, init);
                break;
            }
            case FUSE_LOOKUP: {
                fuse_entry_out entry{};
                entry.nodeid = kFile;
                entry.attr_valid = entry.entry_valid = 1000;
                entry.attr = attributes(kFile);
                answer(fuse, head.unique, entry);
                break;
            }
            case FUSE_GETATTR: {
                fuse_attr_out said{};
                said.attr_valid = 1000;
                said.attr = attributes(head.nodeid);
                answer(fuse, head.unique, said);
                break;
            }
            case FUSE_OPEN:
                answer(fuse, head.unique, fuse_open_out{});
                break;
            case FUSE_READ: {
                fuse_read_in wanted{};
                std::memcpy(&wanted, request + sizeof head, sizeof wanted);
                const std::size_t left = wanted.offset < kFileBytes ? kFileBytes - wanted.offset : 0;
                answer(fuse, head.unique, zeros, wanted.size < left ? wanted.size : left);
                break;
            }
            case FUSE_WRITE:
            case FUSE_FORGET:
            case FUSE_BATCH_FORGET:
                break;
            default: {
                const fuse_out_header refused{sizeof refused, -ENOSYS, head.unique};
                [[maybe_unused]] const auto n = write(fuse, &refused, sizeof refused);
            }
        }
    }
    _exit(0);
}

// The kernel writes back a replaced mapping while it holds the lock for writing.
void block_with_mmap_lock(const char* folder, const char* library) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        cannot("make a mount namespace");
    const int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0) cannot("/dev/fuse");
    const std::string options = "fd=" + std::to_string(fuse) + ",rootmode=40755,user_id=0,group_id=0";
    if (mount("memscope-test", folder, "fuse", 0, options.c_str()) != 0) cannot("mount FUSE");
    if (fork() == 0) serve(fuse, library ? 30 : 0);
    close(fuse);
    if (library) {
        const int code = open(library, O_RDONLY | O_CLOEXEC);
        struct stat status{};
        if (code < 0 || fstat(code, &status) != 0) cannot("open the library");
        if (mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_EXEC, MAP_PRIVATE, code, 0) ==
            MAP_FAILED)
            cannot("map the library");
    }
    const int file = open((std::string(folder) + "/file").c_str(), O_RDWR | O_CLOEXEC);
    void* mapped = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || mapped == MAP_FAILED) cannot("map a file of FUSE");
    static_cast<char*>(mapped)[0] = 1;
    std::puts("blocks");  // printed now, because with the lock held the C library may be unable to print
    std::fflush(stdout);
    mmap(mapped, kFileBytes, PROT_READ, MAP_FIXED | MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    for (;;) pause();
}

}  // namespace

int main(int count, char** words) {
    const std::string_view how = count > 1 ? words[1] : "";
    if (how == "userfaultfd") {
        block_with_userfaultfd();
        grow();
        wait_to_be_ended();
    }
    if (how == "mmap_lock" && count > 2) block_with_mmap_lock(words[2], count > 3 ? words[3] : nullptr);
    std::puts("cannot: how?");
    return 2;
}
