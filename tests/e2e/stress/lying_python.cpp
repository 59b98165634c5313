// A program that looks like CPython 3.13 and has false data, for hostile_python.py. It has _PyRuntime, with a table of
// offsets that leads to forged structures.
//   lying_python LIE [PROCESSES [ROUNDS]]     shows false data for a while, prints "done", then waits to be killed
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

using Word = std::uint64_t;
constexpr std::size_t kMiB = 1 << 20;
constexpr int kFrames = 64, kCodes = 4096;
constexpr Word kNowhere = 0xdead0000, kKernel = 0xffff800000000000;

struct Text {
    Word head[2], length;
    std::uint64_t hash;
    std::uint32_t state, pad;
    char characters[4 * kMiB];
};
struct Table {
    Word head[2], size, hash;
    unsigned char bytes[2 * kMiB];
};
struct Code {
    Word name, file, table;
    std::uint32_t first_line, pad;
    unsigned char bytecode[64];
};
struct Frame {
    Word code, previous, instruction, owner;
};
struct Thread {
    Word next, frame, id;
};
struct Interpreter {
    Word next, threads;
};

int rounds = 6'000;  // for the lies with many stacks
Text name, file;
Table table;
Code codes[kCodes];
Frame frames[kFrames];
Thread thread;
Interpreter interpreter;
constexpr std::uint32_t kPlainAscii = 0x64, kWide = 0x30 /* compact, four bytes a character, not ASCII */;

Word address(const void* of) { return reinterpret_cast<Word>(of); }

}  // namespace

extern "C" {
Word _PyRuntime[128];  // NOLINT: memscope finds it by its name
}

namespace {

constexpr std::size_t kHeadWord = 100;  // of the list of interpreters, in _PyRuntime

void fill_offsets() {
    std::memcpy(&_PyRuntime[0], "xdebugpy", 8);
    _PyRuntime[1] = 0x030d0000;
    _PyRuntime[5] = kHeadWord * sizeof(Word);
    _PyRuntime[8] = offsetof(Interpreter, next);
    _PyRuntime[9] = offsetof(Interpreter, threads);
    _PyRuntime[21] = offsetof(Thread, next);
    _PyRuntime[23] = offsetof(Thread, frame);
    _PyRuntime[25] = offsetof(Thread, id);
    _PyRuntime[29] = offsetof(Frame, previous);
    _PyRuntime[30] = offsetof(Frame, code);
    _PyRuntime[31] = offsetof(Frame, instruction);
    _PyRuntime[33] = offsetof(Frame, owner);
    _PyRuntime[35] = offsetof(Code, file);
    _PyRuntime[37] = offsetof(Code, name);
    _PyRuntime[38] = offsetof(Code, table);
    _PyRuntime[39] = offsetof(Code, first_line);
    _PyRuntime[43] = offsetof(Code, bytecode);
    _PyRuntime[65] = offsetof(Table, size);
    _PyRuntime[66] = offsetof(Table, bytes);
    _PyRuntime[68] = offsetof(Text, state);
    _PyRuntime[69] = offsetof(Text, length);
    _PyRuntime[70] = offsetof(Text, characters);
}

void set(Text& text, std::string_view words) {
    std::memcpy(text.characters, words.data(), words.size() + 1);
    text.length = words.size();
    text.state = kPlainAscii;
}

// A correct interpreter, unless code below changes it.
void tell_the_truth() {
    fill_offsets();
    set(name, "liar");
    set(file, "/lies.py");
    table.size = 2;
    table.bytes[0] = 0x80 | 11 << 3 | 7;
    for (Code& code : codes) code = {address(&name), address(&file), address(&table), 1, 0, {}};
    for (int i = 0; i < kFrames; ++i) {
        const Word previous = i + 1 < kFrames ? address(&frames[i + 1]) : 0;
        frames[i] = {address(&codes[i]), previous, address(codes[i].bytecode), 0};
    }
    thread = {0, address(frames), static_cast<Word>(gettid())};
    interpreter = {0, address(&thread)};
    _PyRuntime[kHeadWord] = address(&interpreter);
}

Word any_number() {
    static Word state = 88172645463325252ULL + static_cast<Word>(getpid());
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

enum class Then { unmap, keep };

// Maps and touches memory: the hooks of mapped and of resident growth each read the stack.
void touch(std::size_t bytes, Then then = Then::unmap) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(3);
    std::memset(memory, 1, bytes);
    if (then == Then::unmap) munmap(memory, bytes);
}

// Keeps the last piece, because memscope shows only what is still there.
void grow_often(int times = 200) {
    for (int i = 0; i < times; ++i) touch(2 * kMiB, i + 1 == times ? Then::keep : Then::unmap);
}

void cyclic_threads() {
    thread = {address(&thread), address(frames), 1};
    interpreter.next = address(&interpreter);
    grow_often();
}

void cyclic_frames() {
    frames[3].previous = address(&frames[0]);
    grow_often();
    for (Frame& frame : frames) frame.owner = 3;  // frames that are skipped, in an endless cycle
    grow_often();
}

void wild_pointers() {
    for (const Word wild : {kNowhere, kKernel, Word{1}, ~Word{0}, address(&thread) + 4095 * 4096}) {
        for (Word* pointer : {&frames[5].previous, &frames[4].code, &codes[3].name, &codes[2].file, &codes[1].table,
                              &thread.frame, &interpreter.threads, &_PyRuntime[kHeadWord]}) {
            const Word right = *pointer;
            *pointer = wild;
            grow_often(10);
            for (Code& code : codes) ++code.first_line;  // so that memscope sends the names again
            *pointer = right;
        }
    }
}

void long_names() {
    for (Text* text : {&name, &file}) {
        std::memset(text->characters, 'n', sizeof text->characters);
        text->length = sizeof text->characters;
    }
    table.size = sizeof table.bytes;
    std::memset(table.bytes, 0x80 | 11 << 3 | 7, sizeof table.bytes);
    for (int round = 0; round < 100; ++round) {
        name.state = round % 2 ? kWide : kPlainAscii;
        name.length = round % 3 ? sizeof name.characters : Word{1} << 60;
        file.state = round % 4 ? kPlainAscii : 0xffffffff;
        table.size = round % 5 ? sizeof table.bytes : Word{1} << 62;
        for (Code& code : codes) ++code.first_line;
        grow_often(5);
    }
}

void lying_lines() {
    table.size = 1024;
    for (int round = 0; round < 200; ++round) {
        for (std::size_t i = 0; i < 1024; ++i) table.bytes[i] = static_cast<unsigned char>(any_number());
        for (Code& code : codes) code.first_line = static_cast<std::uint32_t>(any_number());
        for (Frame& frame : frames) frame.instruction = any_number();
        grow_often(2);
    }
}

// Each time the stack and all its code objects are new.
void many_stacks() {
    for (int round = 0; round < rounds; ++round) {
        for (Frame& frame : frames) {
            Code& code = codes[any_number() % kCodes];
            code.first_line = static_cast<std::uint32_t>(any_number() >> 40);
            frame.code = address(&code);
            frame.instruction = address(code.bytecode) + any_number() % 64;
        }
        if (round % 16 == 0) touch(kMiB);
        void* memory = mmap(nullptr, 128 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (round % 4) munmap(memory, 128 << 10);
    }
}

void many_long_stacks() {
    for (Text* text : {&name, &file}) {
        std::memset(text->characters, 'n', sizeof text->characters);
        text->length = sizeof text->characters;
    }
    name.state = kWide;
    many_stacks();
}

using Lie = void (*)();
Lie lie_called(std::string_view called) {
    if (called == "cyclic_threads") return cyclic_threads;
    if (called == "cyclic_frames") return cyclic_frames;
    if (called == "wild_pointers") return wild_pointers;
    if (called == "long_names") return long_names;
    if (called == "lying_lines") return lying_lines;
    if (called == "many_stacks") return many_stacks;
    if (called == "many_long_stacks") return many_long_stacks;
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    const Lie lie = argc > 1 ? lie_called(argv[1]) : nullptr;
    if (!lie) return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tell_the_truth();
    grow_often(5);
    usleep(500'000);  // memscope must recognize the interpreter before the data is forged
    const int processes = argc > 2 ? std::atoi(argv[2]) : 1;
    if (argc > 3) rounds = std::atoi(argv[3]);
    int told[2];
    if (pipe(told) != 0) return 1;
    for (int i = 0; i < processes; ++i) {
        if (fork() != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        thread.id = static_cast<Word>(gettid());
        lie();
        if (write(told[1], "x", 1) == 1) pause();
        _exit(1);
    }
    char byte = 0;
    for (int i = 0; i < processes; ++i)
        if (read(told[0], &byte, 1) != 1) return 1;
    std::puts("done");
    std::fflush(stdout);
    pause();
}
