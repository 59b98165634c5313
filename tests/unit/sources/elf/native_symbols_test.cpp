#include "sources/elf/native_symbols.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>

#include "landmarks.h"
#include "support/direct_reads.h"
#include "support/fake_tree.h"

namespace memscope {
namespace native_symbols_test {

using testing::HasSubstr;
using testing::IsEmpty;

const fs::path kAny = LANDMARKS "any";
const fs::path kFixed = LANDMARKS "fixed";
const fs::path kStripped = LANDMARKS "stripped";

std::vector<NativeLocation> locate(NativeSymbols& symbols, pid_t pid, std::span<const std::uint64_t> addresses,
                                   Seconds now) {
    auto located = symbols.locate_when_read(pid, addresses, now, now);
    return located ? std::move(*located) : symbols.locate_as_known(pid, addresses);
}

std::vector<NativeFrame> frames(NativeSymbols& symbols, pid_t pid, std::vector<std::uint64_t> addresses,
                                Seconds now = Seconds(1)) {
    std::vector<NativeFrame> named;
    for (const NativeLocation& location : locate(symbols, pid, addresses, now)) named.push_back(symbols.name(location));
    return named;
}

std::uint64_t value_in(const fs::path& program, std::string_view symbol) {
    const auto file = ElfFile::open(Fd(::open(program.c_str(), O_RDONLY | O_CLOEXEC)));
    const auto found = file ? file->find_symbol(symbol) : std::nullopt;
    return found ? found->value : 0;
}

// A program in a directory of its own, because the test changes the file while it runs.
class Copy {
  public:
    explicit Copy(const fs::path& program) { fs::copy_file(program, path); }
    FakeTree tree{{"bin/", ""}};
    fs::path path = fs::canonical(tree.at("bin")) / "landmarks";
};

TEST(NativeSymbols, NamesFunctionsOfAProgramAtAnyAddress) {
    const Landmarks program(kAny);
    DirectSymbols symbols{SysRoot{}};
    const auto named = frames(symbols, program.pid(), {program.landmark + 1, program.inside_lighthouse});
    EXPECT_EQ(named[0].symbol, "landmark");
    EXPECT_EQ(named[0].module, fs::canonical(kAny).native());
    EXPECT_EQ(named[0].offset, value_in(kAny, "landmark") + 1);
    EXPECT_EQ(named[1].symbol, "void* landmarks::lighthouse<int>(int)");
    EXPECT_LT(named[1].offset, program.inside_lighthouse);  // not the address in the process
}

TEST(NativeSymbols, NamesFunctionsOfAProgramAtAFixedAddress) {
    const Landmarks program(kFixed);
    DirectSymbols symbols{SysRoot{}};
    const auto named = frames(symbols, program.pid(), {program.landmark, program.inside_lighthouse});
    EXPECT_EQ(named[0].symbol, "landmark");
    EXPECT_EQ(named[0].offset, program.landmark);
    EXPECT_EQ(named[1].symbol, "void* landmarks::lighthouse<int>(int)");
    EXPECT_EQ(named[1].offset, program.inside_lighthouse);
}

TEST(NativeSymbols, AReturnAddressBelongsToTheFunctionThatCalled) {
    const Landmarks program(kFixed);
    DirectSymbols symbols{SysRoot{}};
    const auto end =
        program.landmark + ElfFile::open(Fd(::open(kFixed.c_str(), O_RDONLY)))->find_symbol("landmark")->size;
    const auto named = frames(symbols, program.pid(), {end, end, program.landmark});
    EXPECT_NE(named[0].symbol, "landmark");  // the innermost frame is not moved back by one byte
    EXPECT_EQ(named[1].symbol, "landmark");
    EXPECT_EQ(named[1].offset, end);
    EXPECT_NE(named[2].symbol, "landmark");
}

TEST(NativeSymbols, AStrippedProgramHasModuleAndOffsetOnly) {
    const Landmarks program(kStripped);
    DirectSymbols symbols{SysRoot{}};
    const auto named = frames(symbols, program.pid(), {program.landmark});
    EXPECT_THAT(named[0].symbol, IsEmpty());
    EXPECT_EQ(named[0].module, fs::canonical(kStripped).native());
    EXPECT_GT(named[0].offset, 0U);
    EXPECT_LT(named[0].offset, program.landmark);
}

TEST(NativeSymbols, NamesAreThereAfterTheProcessIsGone) {
    Landmarks program(kAny);
    DirectSymbols symbols{SysRoot{}};
    const std::uint64_t addresses[] = {program.landmark};
    const auto located = locate(symbols, program.pid(), addresses, Seconds(1));
    program.finish();
    EXPECT_EQ(symbols.name(located[0]).symbol, "landmark");
}

TEST(NativeSymbols, ADeletedFileHasNoNamesUnlessItWasFoundBefore) {
    const Copy copy(kAny);
    const Landmarks program(copy.path);
    DirectSymbols early{SysRoot{}}, late{SysRoot{}};
    const std::uint64_t addresses[] = {program.landmark};
    const auto located = locate(early, program.pid(), addresses, Seconds(1));
    fs::remove(copy.path);
    EXPECT_EQ(early.name(located[0]).symbol, "landmark");
    const auto named = frames(late, program.pid(), {program.landmark});
    EXPECT_THAT(named[0].symbol, IsEmpty());
    EXPECT_EQ(named[0].module, copy.path.native());
    EXPECT_GT(named[0].offset, 0U);
}

TEST(NativeSymbols, AFileThatWasReplacedGivesNoNames) {
    const Copy copy(kAny);
    const Landmarks program(copy.path);
    fs::copy_file(kAny, copy.path.native() + ".new");
    fs::rename(copy.path.native() + ".new", copy.path);
    DirectSymbols symbols{SysRoot{}};
    const auto named = frames(symbols, program.pid(), {program.landmark});
    EXPECT_THAT(named[0].symbol, IsEmpty());
    EXPECT_EQ(named[0].module, copy.path.native());
}

TEST(NativeSymbols, AFileThatIsReplacedBeforeItIsOpenedAgainGivesNoNames) {
    const Copy copy(kAny);
    const Landmarks program(copy.path);
    DirectSymbols symbols(SysRoot{}, {.open_files = 0});
    const std::uint64_t addresses[] = {program.landmark};
    const auto located = locate(symbols, program.pid(), addresses, Seconds(1));
    EXPECT_EQ(symbols.counts().open_files, 0U);
    fs::remove(copy.path);
    fs::copy_file(kAny, copy.path);
    EXPECT_THAT(symbols.name(located[0]).symbol, IsEmpty());
    EXPECT_EQ(symbols.counts().failed, 1U);
}

TEST(NativeSymbols, FilesAreOpenedAgainWhenTooManyAreOpen) {
    const Landmarks program(kAny);
    DirectSymbols symbols(SysRoot{}, {.open_files = 0});
    EXPECT_EQ(frames(symbols, program.pid(), {program.landmark})[0].symbol, "landmark");
    EXPECT_EQ(symbols.counts().failed, 0U);
}

TEST(NativeSymbols, FilesAreClosedOnceTheirSymbolsAreLoaded) {
    const Landmarks program(kAny);
    DirectSymbols symbols{SysRoot{}};
    const std::uint64_t addresses[] = {program.landmark};
    const auto located = locate(symbols, program.pid(), addresses, Seconds(1));
    EXPECT_EQ(symbols.counts().open_files, 1U);
    symbols.name(located[0]);
    EXPECT_EQ(symbols.counts().open_files, 0U);
    EXPECT_EQ(symbols.counts().symbol_files, 1U);
}

// Reads that fail until `error` is cleared, as they do while no helper process can be started.
class FailingReads : public DirectReads {
  public:
    FailingReads() : DirectReads(SysRoot{}) {}
    std::optional<Result<ModulePlace>> find(pid_t pid, const MappedRange& mapped, std::uint64_t headers) override {
        if (find_error != 0) return system_error(find_error, "find");
        return DirectReads::find(pid, mapped, headers);
    }
    std::optional<Result<LoadedModule>> load(ModuleWanted wanted, Wait wait) override {
        if (load_error != 0) return system_error(load_error, "load");
        return DirectReads::load(std::move(wanted), wait);
    }
    int find_error = 0;
    int load_error = 0;
};

TEST(NativeSymbols, AFileThatCouldNotBeReadIsReadLater) {
    const Landmarks program(kAny);
    for (const int error : {ETIMEDOUT, EMFILE, ECONNABORTED}) {
        const auto reads = std::make_shared<FailingReads>();
        NativeSymbols symbols{reads};
        const std::uint64_t addresses[] = {program.landmark};
        reads->find_error = reads->load_error = error;
        EXPECT_EQ(frames(symbols, program.pid(), {program.landmark})[0].symbol, "");
        reads->find_error = 0;
        const auto located = locate(symbols, program.pid(), addresses, Seconds(1));
        EXPECT_EQ(symbols.name(located[0]).symbol, "");
        reads->load_error = 0;
        EXPECT_EQ(symbols.name(located[0]).symbol, "landmark") << error;
        EXPECT_EQ(symbols.counts().failed, 0U);
    }
}

// Loads symbols as a helper does: it answers a request that is repeated unchanged.
class RepeatedLoads : public DirectReads {
  public:
    RepeatedLoads() : DirectReads(SysRoot{}) {}
    std::optional<Result<LoadedModule>> load(ModuleWanted wanted, Wait wait) override {
        const pid_t pid = wanted.pid;
        if (requested.insert(pid).second) return std::nullopt;
        if (pid == failing) return plain_error("find the file");
        return DirectReads::load(std::move(wanted), wait);
    }
    std::set<pid_t> requested{};
    pid_t failing = 0;
};

TEST(NativeSymbols, AFileThatIsSeenInAnotherProcessMeanwhileIsLoadedOnce) {
    const Landmarks one(kAny), other(kAny);
    const auto reads = std::make_shared<RepeatedLoads>();
    NativeSymbols symbols{reads};
    const auto located = locate(symbols, one.pid(), std::span(&one.landmark, 1), Seconds(1));
    EXPECT_EQ(symbols.name(located[0], NativeReads::Wait::no).symbol, "");
    (void)locate(symbols, other.pid(), std::span(&other.landmark, 1), Seconds(1));
    EXPECT_EQ(symbols.name(located[0], NativeReads::Wait::no).symbol, "landmark");
    EXPECT_EQ(reads->requested, std::set<pid_t>{one.pid()});
}

TEST(NativeSymbols, AFileThatIsNotFoundInOneProcessIsLookedUpInTheOther) {
    const Landmarks one(kAny), other(kAny);
    const auto reads = std::make_shared<RepeatedLoads>();
    reads->failing = one.pid();
    NativeSymbols symbols{reads, {.open_files = 0}};
    const auto located = locate(symbols, one.pid(), std::span(&one.landmark, 1), Seconds(1));
    EXPECT_EQ(symbols.name(located[0], NativeReads::Wait::no).symbol, "");
    (void)locate(symbols, other.pid(), std::span(&other.landmark, 1), Seconds(1));
    EXPECT_EQ(symbols.name(located[0], NativeReads::Wait::no).symbol, "") << "the answer for the first process";
    EXPECT_EQ(symbols.name(located[0], NativeReads::Wait::no).symbol, "") << "the request for the other process";
    EXPECT_EQ(symbols.name(located[0], NativeReads::Wait::no).symbol, "landmark");
    EXPECT_EQ(symbols.counts().failed, 0U);
}

// A helper has read the mappings, but not found the file of the code, when the process ends.
TEST(NativeSymbols, AFileThatIsNotFoundBeforeTheProcessEndsIsFoundByItsPath) {
    class SlowReads : public DirectReads {
      public:
        SlowReads() : DirectReads(SysRoot{}) {}
        std::optional<Result<ModulePlace>> find(pid_t, const MappedRange&, std::uint64_t) override { return {}; }
    };
    Landmarks program(kAny);
    NativeSymbols symbols{std::make_shared<SlowReads>()};
    const std::uint64_t addresses[] = {program.landmark, program.inside_lighthouse};
    EXPECT_FALSE(symbols.locate_when_read(program.pid(), addresses, Seconds(1), Seconds(1)));
    const pid_t pid = program.pid();
    program.finish();
    const auto located = symbols.locate_as_known(pid, addresses);
    EXPECT_EQ(symbols.name(located[0]).symbol, "landmark");
    EXPECT_EQ(located[0].module, located[1].module) << "the symbols are loaded once";
}

TEST(NativeSymbols, MappingsThatCouldNotBeReadAreReadAtTheNextCall) {
    class FailingMaps : public DirectReads {
      public:
        FailingMaps() : DirectReads(SysRoot{}) {}
        std::optional<Result<ProcessMaps>> maps(pid_t pid, std::uint64_t number) override {
            if (fails) return system_error(ETIMEDOUT, "read the maps");
            return DirectReads::maps(pid, number);
        }
        bool fails = true;
    };
    const Landmarks program(kAny);
    const auto reads = std::make_shared<FailingMaps>();
    NativeSymbols symbols{reads};
    const std::uint64_t addresses[] = {program.landmark};
    EXPECT_FALSE(symbols.locate_when_read(program.pid(), addresses, Seconds(1), Seconds(1)));
    reads->fails = false;
    const auto located = symbols.locate_when_read(program.pid(), addresses, Seconds(1), Seconds(1));
    ASSERT_TRUE(located);
    EXPECT_EQ(symbols.name((*located)[0]).symbol, "landmark");
}

TEST(NativeSymbols, MappingsThatCouldNotBeReadAgainStayKnown) {
    class FailingMaps : public DirectReads {
      public:
        FailingMaps() : DirectReads(SysRoot{}) {}
        std::optional<Result<ProcessMaps>> maps(pid_t pid, std::uint64_t number) override {
            if (pid == failing) return system_error(ETIMEDOUT, "read the maps");
            return DirectReads::maps(pid, number);
        }
        pid_t failing = 0;
    };
    const Landmarks one(kAny), other(kAny);
    const auto reads = std::make_shared<FailingMaps>();
    NativeSymbols symbols{reads};
    const std::uint64_t addresses[] = {one.landmark};
    (void)locate(symbols, one.pid(), addresses, Seconds(100));
    reads->failing = one.pid();
    EXPECT_FALSE(symbols.locate_when_read(one.pid(), addresses, Seconds(150), Seconds(150)));
    (void)locate(symbols, other.pid(), std::span(&other.landmark, 1), Seconds(161));  // forgets old address spaces
    EXPECT_EQ(symbols.name(symbols.locate_as_known(one.pid(), addresses)[0]).symbol, "landmark");
}

TEST(NativeSymbols, SymbolsThatWereDroppedAreLoadedAgain) {
    const Landmarks one(kAny), other(kFixed);
    DirectSymbols symbols(SysRoot{}, {.symbols = {.files = 1, .bytes = 1}});
    const auto first = locate(symbols, one.pid(), std::span(&one.landmark, 1), Seconds(1));
    const auto second = locate(symbols, other.pid(), std::span(&other.landmark, 1), Seconds(1));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(symbols.name(first[0]).symbol, "landmark");
        EXPECT_EQ(symbols.name(second[0]).symbol, "landmark");
        EXPECT_EQ(symbols.counts().symbol_files, 1U);
    }
}

TEST(NativeSymbols, TwoProcessesOfOneProgramShareAModule) {
    const Landmarks one(kAny), other(kAny);
    DirectSymbols symbols{SysRoot{}};
    const auto first = locate(symbols, one.pid(), std::span(&one.landmark, 1), Seconds(1));
    const auto second = locate(symbols, other.pid(), std::span(&other.landmark, 1), Seconds(1));
    EXPECT_EQ(first[0].module, second[0].module);
    EXPECT_EQ(first[0].offset, second[0].offset);
}

TEST(NativeSymbols, NamesAnonymousMemoryInBracketsAndNoModuleForOtherAddresses) {
    void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(code, MAP_FAILED);
    DirectSymbols symbols{SysRoot{}};
    std::uint64_t on_stack = 0;
    const auto named = frames(
        symbols, ::getpid(),
        {reinterpret_cast<std::uint64_t>(code) + 16, 8, reinterpret_cast<std::uint64_t>(&on_stack), ~std::uint64_t{0}});
    ::munmap(code, 4096);
    EXPECT_THAT(named[0].module, testing::StartsWith("[anon"));
    EXPECT_THAT(named[0].symbol, IsEmpty());
    EXPECT_EQ(named[1], (NativeFrame{.symbol = {}, .module = {}, .offset = 8}));
    EXPECT_THAT(named[2].module, IsEmpty());  // no executable memory is mapped there
    EXPECT_THAT(named[3].module, IsEmpty());
}

TEST(NativeSymbols, AProcessThatIsNotThereHasNoModules) {
    DirectSymbols symbols(SysRoot{.proc = "/nowhere"});
    EXPECT_EQ(frames(symbols, 1, {0x1000}), (std::vector<NativeFrame>{{.symbol = {}, .module = {}, .offset = 0x1000}}));
}

TEST(NativeSymbols, MapsAreReadAgainAfterAWhileOrForANewerStackWithAnUnknownAddress) {
    const Landmarks program(kAny);
    DirectSymbols symbols{SysRoot{}};
    frames(symbols, program.pid(), {program.landmark}, Seconds(1));
    frames(symbols, program.pid(), {program.landmark}, Seconds(1.5));
    EXPECT_EQ(symbols.counts().maps_read, 1U);
    frames(symbols, program.pid(), {program.landmark}, Seconds(2));
    EXPECT_EQ(symbols.counts().maps_read, 2U);
    const std::vector<std::uint64_t> unknown{program.landmark, 77};
    const auto locate = [&](double recorded, double now) {
        return symbols.locate_when_read(program.pid(), unknown, Seconds(recorded), Seconds(now));
    };
    EXPECT_TRUE(locate(1.9, 2.01)) << "the maps are newer than the stack, so 77 is no address";
    EXPECT_EQ(symbols.counts().maps_read, 2U);
    symbols.forget(program.pid());
    frames(symbols, program.pid(), {program.landmark}, Seconds(20));
    const std::uint64_t before = symbols.counts().maps_read;
    for (int i = 1; i <= 8; ++i) EXPECT_TRUE(locate(20 + i * 0.001, 20 + i * 0.001)) << "a newer stack " << i;
    EXPECT_EQ(symbols.counts().maps_read, before + 8);
    EXPECT_FALSE(locate(20.009, 20.009)) << "the process may have mapped a library since, but there were many reads";
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(locate(20.009 + i * 1e-4, 20.2));
    EXPECT_EQ(symbols.counts().maps_read, before + 9) << "one read is enough for all stacks that are older";
}

// Code without frame pointers shows new arbitrary callers all the time.
TEST(NativeSymbols, MapsAreNotReadAgainForCallersThatMayBeArbitrary) {
    const Landmarks program(kAny);
    DirectSymbols symbols{SysRoot{}};
    frames(symbols, program.pid(), {program.landmark}, Seconds(1));
    const auto read = [&](std::vector<std::uint64_t> addresses) {
        EXPECT_TRUE(symbols.locate_when_read(program.pid(), addresses, Seconds(1.1), Seconds(1.1),
                                             NativeSymbols::Callers::may_be_arbitrary));
        return symbols.counts().maps_read;
    };
    EXPECT_EQ(read({program.landmark, 77, 78}), 1U);
    EXPECT_EQ(read({}), 1U);
    EXPECT_EQ(read({77, program.landmark}), 2U) << "the innermost address is no arbitrary one";
}

TEST(NativeSymbols, AddressSpacesThatAreNotUsedMakeRoom) {
    const Landmarks one(kAny), other(kAny);
    DirectSymbols symbols(SysRoot{}, {.cached_ranges = 1});
    for (int i = 0; i < 2; ++i) {
        frames(symbols, one.pid(), {one.landmark});
        frames(symbols, other.pid(), {other.landmark});
    }
    EXPECT_EQ(symbols.counts().maps_read, 4U);
}

// Process and memory are those of the test itself, but /proc shows its program on another device, as with btrfs, and
// with the start of the file mapped at an address that the test chooses.
class OnAnotherDevice {
  public:
    explicit OnAnotherDevice(const char* beginning) {
        const auto maps = read_process_maps(SysRoot{}, ::getpid());
        const MappedRange code = *maps->at(here);
        path = code.path;
        const auto start = reinterpret_cast<std::uint64_t>(beginning);
        const std::string process = "proc/" + std::to_string(::getpid());
        tree.write(process + "/maps", line(start, start + 4096, "r--p", 0, code.inode) +
                                          line(code.start, code.end, "--xp", code.offset, code.inode));
        fs::create_symlink("/", tree.at(process + "/root"));
    }
    NativeFrame frame() const {
        DirectSymbols symbols(tree.root());
        return frames(symbols, ::getpid(), {here})[0];
    }
    std::string path{};

  private:
    std::string line(std::uint64_t start, std::uint64_t end, const char* access, std::uint64_t offset,
                     std::uint64_t inode) const {
        char text[128];
        std::snprintf(text, sizeof text, "%lx-%lx %s %lx 1f:2f %lu ", start, end, access, offset, inode);
        return text + path + "\n";
    }
    FakeTree tree{{"proc/", ""}};
    const std::uint64_t here = reinterpret_cast<std::uint64_t>(&value_in);
};

// A page below the program, because the start of a file is mapped before its code.
class LowPage {
  public:
    LowPage() {
        constexpr std::uint64_t kBelow = 0x10000000;
        text = static_cast<char*>(::mmap(reinterpret_cast<void*>(kBelow), 4096, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
        if (text == MAP_FAILED) throw std::runtime_error("mmap");
        std::ifstream("/proc/self/exe").read(text, 4096);
    }
    LowPage(const LowPage&) = delete;
    LowPage& operator=(const LowPage&) = delete;
    ~LowPage() { ::munmap(text, 4096); }
    char* text = nullptr;
};

TEST(NativeSymbols, OnAnotherDeviceTheMappedBuildIdProvesTheFile) {
    const LowPage page;
    EXPECT_THAT(OnAnotherDevice(page.text).frame().symbol, HasSubstr("value_in"));
}

TEST(NativeSymbols, OnAnotherDeviceOtherBytesInMemoryGiveNoName) {
    const LowPage page;
    page.text[4095] ^= 1;
    const OnAnotherDevice process(page.text);
    EXPECT_THAT(process.frame().symbol, IsEmpty());
    EXPECT_EQ(process.frame().module, process.path);
}

TEST(NativeSymbols, AFifoInPlaceOfTheFileIsNotOpened) {
    const Copy copy(kAny);
    const Landmarks program(copy.path);
    fs::remove(copy.path);
    ASSERT_EQ(::mkfifo(copy.path.c_str(), 0600), 0);
    DirectSymbols symbols{SysRoot{}};
    EXPECT_THAT(frames(symbols, program.pid(), {program.landmark})[0].symbol, IsEmpty());
}

}  // namespace native_symbols_test
}  // namespace memscope
