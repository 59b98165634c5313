// Threads map and unmap at random. Afterwards the map of ranges equals that of the kernel, byte for byte.
#include <array>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <random>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <thread>
#include <unistd.h>

#include "kernel/followed.h"

namespace memscope {
namespace ranges_storm_test {

constexpr std::size_t kPage = 65'536;  // a multiple of every page size
// A reservation of 128 TiB succeeds on arm64.
constexpr std::size_t kMoreThanThereIs = std::size_t{1} << 60;

// The work of one thread. It uses only its own mappings, while all other threads do the same.
class Stormer {
  public:
    explicit Stormer(unsigned seed) : random_(seed) {}

    void step() {
        const std::size_t bytes = kPage * (1 + random_() % 32);
        switch (random_() % 12) {
            case 0:
                return add(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), bytes);
            case 1:
                return add(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
            case 2:
                return protect();
            case 3:
                return map_over();
            case 4:
                return move(bytes);
            case 5:
            case 6:
            case 7:
                return unmap();
            case 8:
                return random_() % 16 == 0 ? attach() : move_break();
            case 9:
                return fail();
            default:
                return add(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
        }
    }

  private:
    struct Own {
        char* at;
        std::size_t bytes;
    };

    void add(void* at, std::size_t bytes) {
        if (at == MAP_FAILED) ::_exit(3);
        owns_.push_back({static_cast<char*>(at), bytes});
        while (owns_.size() > 200) {
            const Own own = *any();
            if (::munmap(own.at, own.bytes) != 0) ::_exit(4);
            std::erase_if(owns_, [&](const Own& other) { return other.at == own.at; });
        }
    }
    Own* any() { return owns_.empty() ? nullptr : &owns_[random_() % owns_.size()]; }
    Own part_of(const Own& own) {
        const std::size_t pages = own.bytes / kPage;
        const std::size_t from = random_() % pages;
        return {own.at + from * kPage, (1 + random_() % (pages - from)) * kPage};
    }
    void forget(const Own* own) {
        owns_[static_cast<std::size_t>(own - owns_.data())] = owns_.back();
        owns_.pop_back();
    }

    void unmap() {
        const Own* const own = any();
        if (!own) return;
        const Own whole = *own;
        const Own part = part_of(whole);
        if (::munmap(part.at, part.bytes) != 0) ::_exit(6);
        forget(own);
        if (part.at > whole.at) owns_.push_back({whole.at, static_cast<std::size_t>(part.at - whole.at)});
        char* const behind = part.at + part.bytes;
        if (whole.at + whole.bytes > behind)
            owns_.push_back({behind, static_cast<std::size_t>(whole.at + whole.bytes - behind)});
    }
    void protect() {
        constexpr std::array kAccess = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE};
        if (const Own* const own = any()) {
            const Own part = part_of(*own);
            if (::mprotect(part.at, part.bytes, kAccess[random_() % kAccess.size()]) != 0) ::_exit(5);
        }
    }
    void map_over() {
        constexpr std::array kFlags = {MAP_PRIVATE, MAP_PRIVATE, MAP_SHARED};
        if (const Own* const own = any()) {
            const Own part = part_of(*own);
            ::mmap(part.at, part.bytes, random_() % 3 == 0 ? PROT_NONE : PROT_READ | PROT_WRITE,
                   MAP_FIXED | MAP_ANONYMOUS | kFlags[random_() % kFlags.size()], -1, 0);
        }
    }
    // Fails if the range has more than one mapping.
    void move(std::size_t bytes) {
        Own* const own = any();
        if (!own) return;
        void* const now = ::mremap(own->at, own->bytes, bytes, random_() % 4 == 0 ? 0 : MREMAP_MAYMOVE);
        if (now != MAP_FAILED) *own = {static_cast<char*>(now), bytes};
    }
    static void move_break() {
        static std::mutex mutex;
        static char* end = nullptr;
        const std::scoped_lock lock(mutex);
        char* const now = static_cast<char*>(::sbrk(0));
        if (end == now)
            end = ::sbrk(-3 * static_cast<std::intptr_t>(kPage)) == now ? nullptr : end;
        else
            end = static_cast<char*>(::sbrk(3 * static_cast<std::intptr_t>(kPage))) + 3 * kPage;
    }
    void attach() {
        const int id = ::shmget(IPC_PRIVATE, 4 * kPage, IPC_CREAT | 0600);
        void* const memory = ::shmat(id, nullptr, 0);
        ::shmctl(id, IPC_RMID, nullptr);
        if (random_() % 2 == 0) ::shmdt(memory);
    }
    void fail() {
        if (const Own* const own = any()) {
            ::munmap(own->at + 1, own->bytes);
            ::munmap(own->at, 0);
            ::mremap(own->at, own->bytes, kMoreThanThereIs, MREMAP_MAYMOVE);
        }
    }

    std::mt19937 random_;
    std::vector<Own> owns_{};
};

// Maps and unmaps from start to stop on command, then stays unchanged.
void storm(const Child::Script& script, bool patient) {
    script.say();
    script.wait();
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed)
        threads.emplace_back([&stop, seed, patient] {
            Stormer stormer(seed);
            while (!stop) {
                for (int i = 0; i < 10; ++i) stormer.step();
                if (patient) ::usleep(5000);
            }
            while (stop) ::usleep(1000);  // its stack stays
        });
    script.say();
    script.wait();
    stop = true;
    ::usleep(200'000);
    script.say();
    script.wait();
    ::_exit(0);
}

std::vector<AddressRange> writable_in(const RangeMap& ranges) {
    std::vector<AddressRange> found;
    for (const RangePiece& piece : ranges.ranges()) {
        if (!is_writable_memory(piece.use)) continue;
        if (!found.empty() && found.back().end == piece.range.begin)
            found.back().end = piece.range.end;
        else
            found.push_back(piece.range);
    }
    return found;
}

std::string text_of(const std::vector<AddressRange>& ranges) {
    std::string text;
    for (const AddressRange& range : ranges) text += fmt::format("{:x}-{:x}\n", range.begin, range.end);
    return text;
}

TEST(RangesInAStorm, OfSeveralThreadsEqualThoseOfTheKernel) {
    const RealCgroup job("storm");
    Child child(job, [](const Child::Script& script) { storm(script, true); });
    child.heard();
    Followed followed(job);
    followed.settle();
    child.go();
    child.heard();
    for (int i = 0; i < 30; ++i) {
        followed.round();
        ::usleep(10'000);
    }
    child.go();
    child.heard();
    followed.settle();
    const RangeMap& ranges = followed.ranges(child.pid());
    EXPECT_EQ(text_of(writable_in(ranges)), text_of(writable_memory(child.pid())));
    EXPECT_GT(ranges.totals().grown().n, 0U);
    EXPECT_EQ(ranges.totals().unknown.n, 0U);
    EXPECT_EQ(followed.lost(), 0U);
}

TEST(RangesInAStorm, AreReadAgainAfterLostEvents) {
    const RealCgroup job("flood");
    Child child(job, [](const Child::Script& script) { storm(script, false); });
    child.heard();
    Followed followed(job);
    followed.settle();
    child.go();
    child.heard();
    for (int i = 0; i < 600 && followed.lost() == 0; ++i) ::usleep(100'000);  // the ring buffer is not read
    EXPECT_GT(followed.lost(), 0U);
    for (int i = 0; i < 2; ++i) followed.round();
    child.go();
    child.heard();
    followed.settle();
    const RangeMap& ranges = followed.ranges(child.pid());
    EXPECT_EQ(text_of(writable_in(ranges)), text_of(writable_memory(child.pid())));
    EXPECT_GT(followed.reconciled(child.pid()), 0U);
    EXPECT_GT(ranges.totals().stacks.size(), 0U);
}

}  // namespace ranges_storm_test
}  // namespace memscope
