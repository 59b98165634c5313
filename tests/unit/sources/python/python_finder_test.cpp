#include "sources/python/python_finder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sources/python/python_layout.h"
#include "support/fake_elf.h"
#include "support/fake_memory.h"
#include "support/fake_tree.h"

namespace memscope {
namespace python_finder_test {

using testing::HasSubstr;
using Outcome = PythonSearch::Outcome;

constexpr std::uint64_t kBase = 0xaaaa00000000, kRuntime = 0x5000, kVersion = 0x6000;
constexpr std::uint64_t kInterpreter = 0x900000, kThread = 0xa00000;

std::string interpreter_311() {
    FakeElf elf;
    elf.symbol("_PyRuntime", kRuntime);
    elf.symbol("Py_Version", kVersion);
    return elf.bytes();
}

std::string interpreter_with_text(const std::string& text) {
    FakeElf elf;
    elf.symbol("_PyRuntime", kRuntime);
    elf.section(".rodata", 0, text);
    return elf.bytes();
}

// Process 42, with a root of its own, runs /bin/python3.
struct FakeProcess {
    FakeTree tree{};
    FakeMemory memory{};

    explicit FakeProcess(const std::string& program) {
        tree.write("root/bin/python3", program);
        tree.write("proc/42/maps", line(kBase, "/bin/python3"));
        tree.write("proc/42/status", "Name:\tpython3\nNSpid:\t42\t7\n");
        fs::create_directory_symlink(tree.at("root"), tree.at("proc/42/root"));
        fs::create_symlink("/bin/python3", tree.at("proc/42/exe"));
        memory.put_value<std::uint64_t>(kBase + kVersion, 0x030b02f0);
        fill(*python_layout(311));
    }
    static std::string line(std::uint64_t start, const std::string& path) {
        return fmt_hex(start) + "-" + fmt_hex(start + 0x10000) + " r-xp 00000000 fe:01 77 " + path + "\n";
    }
    static std::string fmt_hex(std::uint64_t number) {
        char text[32];
        std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number));
        return text;
    }
    void fill(const ms_python& layout) {
        memory.put(kBase + kRuntime, std::string(4096, '\0'));
        memory.put_value(kBase + kRuntime + layout.runtime_interpreters, kInterpreter);
        memory.put_value(kInterpreter + layout.interpreter_threads, kThread);
        memory.put_value<std::uint64_t>(kThread + layout.thread_next, 0);
    }
    PythonFinder finder() const {
        return PythonFinder(tree.root(), [this](pid_t) { return ProcessMemory(std::cref(memory)); });
    }
    PythonSearch find() const { return finder().find(42); }
};

// The link to the executable points outside of the fake tree, so the interpreter has to be found by its name.
TEST(PythonSearch, FindsAnInterpreterByItsName) {
    FakeProcess process(interpreter_311());
    process.tree.remove("proc/42/exe");
    const auto search = process.find();
    ASSERT_EQ(search.outcome, Outcome::found) << search.why;
    EXPECT_EQ(search.layout.version, 311);
    EXPECT_EQ(search.layout.runtime, kBase + kRuntime);
    EXPECT_EQ(search.layout.thread_id, 160);
}

TEST(PythonSearch, FindsAnExecutableOfAnyName) {
    FakeProcess process(interpreter_311());
    const std::string program = process.tree.at("root/bin/trainer").string();
    process.tree.write("root/bin/trainer", interpreter_311());
    process.tree.write("proc/42/maps", FakeProcess::line(kBase, program));
    process.tree.remove("proc/42/exe");
    EXPECT_EQ(process.find().outcome, Outcome::none);
    fs::create_symlink(program, process.tree.at("proc/42/exe"));
    EXPECT_EQ(process.find().outcome, Outcome::found);
}

TEST(PythonSearch, FindsLibpythonOfAProgramWithoutSymbols) {
    FakeProcess process(FakeElf().bytes());
    process.tree.write("root/lib/libpython3.11.so.1.0", interpreter_311());
    process.tree.write("proc/42/maps", FakeProcess::line(kBase - 0x100000, "/bin/trainer") +
                                           FakeProcess::line(kBase, "/lib/libpython3.11.so.1.0"));
    EXPECT_EQ(process.find().outcome, Outcome::found);
}

// In a chroot, the mapped paths begin at our root, as does the name of the root that /proc shows.
TEST(PythonSearch, FindsTheLibraryOfAProcessBehindChroot) {
    FakeProcess process(FakeElf().bytes());
    process.tree.write("root/lib/libpython3.11.so.1.0", interpreter_311());
    process.tree.write("proc/42/maps",
                       FakeProcess::line(kBase, process.tree.at("root/lib/libpython3.11.so.1.0").string()));
    EXPECT_EQ(process.find().outcome, Outcome::found);
}

TEST(PythonSearch, FindsNothingWithoutAnInterpreter) {
    FakeProcess process(FakeElf().bytes());
    process.tree.remove("proc/42/exe");
    EXPECT_EQ(process.find().outcome, Outcome::none);
    for (const char* file : {"", "not an ELF file at all",
                             "\x7f"
                             "ELF"}) {
        process.tree.write("root/bin/python3", file);
        EXPECT_EQ(process.find().outcome, Outcome::none) << file;
    }
    process.tree.remove("root/bin/python3");
    EXPECT_EQ(process.find().outcome, Outcome::none);
    process.tree.remove("proc/42/maps");
    EXPECT_EQ(process.find().outcome, Outcome::none);
    EXPECT_EQ(process.finder().find(43).outcome, Outcome::none);
}

TEST(PythonSearch, OpensNothingButRegularFiles) {
    FakeProcess process(interpreter_311());
    process.tree.remove("proc/42/exe");
    process.tree.remove("root/bin/python3");
    ASSERT_EQ(::mkfifo(process.tree.at("root/bin/python3").c_str(), 0600), 0);
    EXPECT_EQ(process.find().outcome, Outcome::none)
        << "the FIFO is not opened, so the search does not wait for a writer";
}

TEST(PythonSearch, WaitsForTheFirstThread) {
    FakeProcess process(interpreter_311());
    process.tree.remove("proc/42/exe");
    process.memory.put_value<std::uint64_t>(kInterpreter + 16, 0);
    EXPECT_EQ(process.find().outcome, Outcome::starting);
    process.memory.put_value<std::uint64_t>(kBase + kRuntime + 40, 0);
    EXPECT_EQ(process.find().outcome, Outcome::starting);
    process.memory = {};
    EXPECT_EQ(process.find().outcome, Outcome::starting) << "not mapped yet";
}

TEST(PythonSearch, SaysWhichVersionItCannotRead) {
    FakeProcess process(interpreter_311());
    process.tree.remove("proc/42/exe");
    process.memory.put_value<std::uint64_t>(kBase + kVersion, 0x031000f0);
    auto search = process.find();
    EXPECT_EQ(search.outcome, Outcome::unreadable);
    EXPECT_THAT(search.why, HasSubstr("CPython 3.16"));
    process.tree.write("root/bin/python3", interpreter_with_text("lib/python3.\0python3.xy\0lib/python3.9\0"
                                                                 "b"));
    EXPECT_THAT((search = process.find()).why, HasSubstr("unknown version")) << "no number before the first NUL";
    process.tree.write("root/bin/python3",
                       interpreter_with_text(std::string("python3.\0python3.999\0lib/python3.9", 35)));
    EXPECT_THAT((search = process.find()).why, HasSubstr("CPython 3.9"));
    EXPECT_EQ(search.outcome, Outcome::unreadable);
}

TEST(PythonSearch, SaysThatMemoryIsForbidden) {
    FakeProcess process(interpreter_311());
    process.tree.remove("proc/42/exe");
    PythonFinder finder(process.tree.root(), [](pid_t) {
        return ProcessMemory([](std::uint64_t, std::span<std::byte>) -> Status { return system_error(EPERM, "read"); });
    });
    EXPECT_EQ(finder.find(42).outcome, Outcome::unreadable);
}

TEST(PythonSearch, FindsTheThreadIdOf310InTheCLibrary) {
    FakeProcess process(interpreter_with_text("lib/python3.10"));
    process.tree.remove("proc/42/exe");
    const auto layout = *python_layout(310);
    process.fill(layout);
    constexpr std::uint64_t kPthread = 0xb00000, kOther = 0xc00000, kOtherThread = 0xd00000;
    process.memory.put_value(kInterpreter + layout.interpreter_threads, kOtherThread);  // the newest goes first
    process.memory.put_value(kOtherThread + layout.thread_next, kThread);
    process.memory.put_value(kOtherThread + layout.thread_id, kOther);
    process.memory.put_value(kThread + layout.thread_id, kPthread);
    EXPECT_EQ(process.find().outcome, Outcome::starting);
    const auto pthread = [](std::uint32_t tid) {
        std::string bytes(2304, '\0');
        const std::uint32_t fields[] = {7, tid};  // the process first, then the thread
        std::memcpy(bytes.data() + 204, fields, sizeof fields);
        return bytes;
    };
    process.memory.put(kPthread, pthread(7));
    process.memory.put(kOther, pthread(9));
    const auto search = process.find();
    ASSERT_EQ(search.outcome, Outcome::found) << search.why;
    EXPECT_EQ(search.layout.pthread_tid, 208);
}

TEST(PythonSearch, ACyclicThreadListEnds) {
    FakeProcess process(interpreter_with_text("lib/python3.10"));
    process.tree.remove("proc/42/exe");
    const auto layout = *python_layout(310);
    process.fill(layout);
    process.memory.put_value(kThread + layout.thread_next, kThread);
    process.memory.put_value<std::uint64_t>(kThread + layout.thread_id, 0xb00000);
    EXPECT_EQ(process.find().outcome, Outcome::starting);
}

TEST(PythonSearch, SeesThatAFileChanged) {
    FakeProcess process(FakeElf().bytes());
    process.tree.remove("proc/42/exe");
    auto finder = process.finder();
    EXPECT_EQ(finder.find(42).outcome, Outcome::none);
    process.tree.write("root/bin/python3", interpreter_311());
    EXPECT_EQ(finder.find(42).outcome, Outcome::found);
}

// Below the root of the process, an absolute link leads to another file than below our root.
TEST(PythonSearch, FollowsLinksBelowTheRootOfTheProcess) {
    FakeProcess process(FakeElf().bytes());
    process.tree.remove("proc/42/exe");
    process.tree.remove("root/bin/python3");
    process.tree.write("root/opt/of-the-process/interpreter", interpreter_311());
    fs::create_symlink("/opt/of-the-process/interpreter", process.tree.at("root/bin/python3"));
    EXPECT_EQ(process.find().outcome, Outcome::found);
}

TEST(PythonSearch, DoesNotLeaveTheRootOfTheProcess) {
    FakeProcess process(FakeElf().bytes());
    process.tree.remove("proc/42/exe");
    process.tree.remove("root/bin/python3");
    process.tree.write("outside", interpreter_311());
    fs::create_symlink("../../outside", process.tree.at("root/bin/python3"));
    EXPECT_EQ(process.find().outcome, Outcome::none);
}

TEST(PythonElfs, AreKeptUpToALimit) {
    FakeTree tree{{"elf", interpreter_311()}};
    const Fd file(::open(tree.at("elf").c_str(), O_RDONLY | O_CLOEXEC));
    FileIdentity identity = *identity_of(file);
    PythonElfCache cache;
    const std::uint64_t first = identity.inode;
    EXPECT_FALSE(cache.known(identity));
    for (std::size_t i = 0; i < PythonElfCache::kLimit; ++i, ++identity.inode) EXPECT_TRUE(cache.find(file, identity));
    identity.inode = first;
    EXPECT_TRUE(cache.known(identity)) << "and is now the most recently used entry";
    identity.inode = first + PythonElfCache::kLimit;
    EXPECT_TRUE(cache.find(file, identity));
    identity.inode = first + 1;
    EXPECT_FALSE(cache.known(identity)) << "the least recently used entry was removed";
    identity.inode = first;
    EXPECT_TRUE(cache.known(identity));
}

}  // namespace python_finder_test
}  // namespace memscope
