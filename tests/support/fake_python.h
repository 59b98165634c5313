#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sources/heap/python/object_census.h"
#include "support/fake_heap.h"

namespace memscope {

// A made-up process with CPython 3.11 and objects in it, outside of pymalloc unless use_pools() is called.
class FakePython {
  public:
    static constexpr std::uint64_t kStatics = 0x5555'0000'0000, kStaticBytes = 0x40000;
    static constexpr std::uint64_t kHeap = 0x6000'0000'0000, kHeapBytes = std::uint64_t{64} << 20;
    static constexpr std::uint64_t kPools = 0x6800'0000'0000, kArena = std::uint64_t{1} << 20, kPoolBytes = 16384;
    static constexpr std::uint64_t kRuntime = kStatics, kInterpreter = kStatics + 0x4000;
    static constexpr std::uint64_t kModules = 888;  // offset in the interpreter
    static constexpr std::uint64_t kReady = 1U << 12U, kHeapType = 1U << 9U;

    FakePython() {
        add_range(kStatics, kStatics + kStaticBytes, "/usr/bin/python3.11", 7);
        add_range(kHeap, kHeap + kHeapBytes, "[heap]", 0);
        add_range(kPools, kPools + kHeapBytes, "", 0);
        pages.touch({kStatics, kStatics + kStaticBytes});
        type_type = next_static_;
        type_type = add_type("type", 1ULL << 31U, 408, 40);
        object_type = add_type("object", 0, 16, 0);
        dict_type = add_type("dict", 1U << 29U, 48, 0);
        list_type = add_type("list", 1U << 25U, 40, 0);
        tuple_type = add_type("tuple", 1U << 26U, 24, 8);
        text_type = add_type("str", 1U << 28U, 80, 0);
        int_type = add_type("int", 1U << 24U, 24, 4);
        float_type = add_type("float", 0, 24, 0);
        module_type = add_type("module", 0, 56, 0);
        pages.put(kRuntime + 40, kInterpreter);
    }

    std::uint64_t add_type(std::string_view name, std::uint64_t flags, std::uint64_t basic, std::uint64_t item,
                           std::uint64_t base = 0) {
        const std::uint64_t type = std::exchange(next_static_, next_static_ + 512);
        const std::uint64_t text = std::exchange(next_static_, next_static_ + 64);
        bytes(text, name);
        pages.put(type, 1);
        pages.put(type + 8, type_type);
        pages.put(type + 24, text);
        pages.put(type + 32, basic);
        pages.put(type + 40, item);
        pages.put(type + 168, flags | kReady);
        pages.put(type + 256, base);
        return type;
    }

    // Objects that are made from now on lie in pools if they have at most 512 bytes.
    void use_pools() { pymalloc.emplace(Pymalloc{.pool_size = kPoolBytes}); }
    // The next object outside of pools begins on a new page, or on a page that is not copied together with earlier
    // ones.
    std::uint64_t begin_page() { return next_ = rounded_up(next_, 4096); }
    std::uint64_t begin_region() { return next_ = rounded_up(next_, 1 << 17); }

    std::uint64_t object(std::uint64_t type, std::uint64_t size, std::uint64_t references = 1) {
        const std::uint64_t address =
            pymalloc && size <= 512 ? block(size) : std::exchange(next_, next_ + rounded_up(size, 16));
        pages.put(address, references);
        pages.put(address + 8, type);
        for (std::uint64_t at = 16; at < rounded_up(size, 8); at += 8) pages.put(address + at, 0);
        return address;
    }
    std::uint64_t text(std::string_view characters, std::uint64_t references = 1) {
        const std::uint64_t address = object(text_type, 48 + characters.size() + 1, references);
        pages.put(address + 16, characters.size());
        pages.put(address + 32, 1U << 2U | 1U << 5U | 1U << 6U);
        bytes(address + 48, characters);
        return address;
    }
    std::uint64_t number() { return object(float_type, 24); }
    std::uint64_t list(const std::vector<std::uint64_t>& items) {
        const std::uint64_t address = object(list_type, 40);
        const std::uint64_t array = std::exchange(next_, next_ + rounded_up(8 * items.size() + 8, 16));
        pages.put(address + 16, items.size());
        pages.put(address + 24, array);
        pages.put(address + 32, items.size());
        for (std::size_t i = 0; i < items.size(); ++i) pages.put(array + 8 * i, items[i]);
        return address;
    }
    std::uint64_t tuple(const std::vector<std::uint64_t>& items) {
        const std::uint64_t address = object(tuple_type, 24 + 8 * items.size());
        pages.put(address + 16, items.size());
        for (std::size_t i = 0; i < items.size(); ++i) pages.put(address + 24 + 8 * i, items[i]);
        return address;
    }
    std::uint64_t dict(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
        unsigned log = 3;
        while ((std::uint64_t{2} << log) / 3 < entries.size()) ++log;
        const std::uint64_t indices = std::uint64_t{1} << log, size = 32 + indices + 24 * ((indices * 2 / 3) + 1);
        const std::uint64_t keys = std::exchange(next_, next_ + rounded_up(size, 16));
        pages.put(keys, 1);
        pages.put(keys + 8, log | log << 8U);
        pages.put(keys + 24, entries.size());
        for (std::size_t i = 0; i < entries.size(); ++i) {
            pages.put(keys + 32 + indices + 24 * i + 8, entries[i].first);
            pages.put(keys + 32 + indices + 24 * i + 16, entries[i].second);
        }
        const std::uint64_t address = object(dict_type, 48);
        pages.put(address + 16, entries.size());
        pages.put(address + 32, keys);
        return address;
    }
    std::uint64_t module(const std::vector<std::pair<std::string, std::uint64_t>>& names) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
        for (const auto& [name, value] : names) entries.emplace_back(text(name), value);
        const std::uint64_t address = object(module_type, 56);
        pages.put(address + 16, dict(entries));
        return address;
    }
    void set_modules(const std::vector<std::pair<std::string, std::uint64_t>>& modules) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
        for (const auto& [name, module] : modules) entries.emplace_back(text(name), module);
        pages.put(kInterpreter + kModules, dict(entries));
    }

    // A new innermost frame of the only thread, with these variables. Returns the address of its first variable.
    std::uint64_t run(std::string_view function, const std::vector<std::pair<std::string, std::uint64_t>>& variables) {
        constexpr std::uint64_t kThread = kStatics + 0x6000, kCFrame = kThread + 0x800, kFrameBytes = 0x200;
        const std::uint64_t outer = std::exchange(frame_, frame_ == 0 ? kThread + 0x1000 : frame_ + kFrameBytes);
        std::vector<std::uint64_t> names;
        for (const auto& [name, value] : variables) names.push_back(text(name));
        if (code_type_ == 0) code_type_ = add_type("code", 0, 184, 0);
        const std::uint64_t code = std::exchange(next_static_, next_static_ + 256);
        pages.put(code, 1);
        pages.put(code + 8, code_type_);
        pages.put(code + 64, std::uint64_t{4} << 32U);        // size of the stack
        pages.put(code + 72, 5 | (variables.size() << 32U));  // first line, number of variables
        pages.put(code + 96, tuple(names));
        pages.put(code + 112, text("/home/job.py"));
        pages.put(code + 128, text(function));
        pages.put(kInterpreter + 16, kThread);
        pages.put(kThread + 56, kCFrame);
        pages.put(kCFrame + 8, frame_);
        pages.put(frame_ + 32, code);
        pages.put(frame_ + 48, outer);
        pages.put(frame_ + 64, 0xFFFF'FFFFU);  // it runs
        for (std::size_t i = 0; i < variables.size(); ++i) pages.put(frame_ + 72 + 8 * i, variables[i].second);
        return frame_ + 72;
    }
    // An array of float32.
    std::uint64_t array(std::uint64_t data, std::uint64_t elements) {
        if (array_type == 0) array_type = add_type("numpy.ndarray", 0, 80, 0);
        const std::uint64_t address = object(array_type, 80);
        fill_array(address, data, elements);
        return address;
    }
    void fill_array(std::uint64_t address, std::uint64_t data, std::uint64_t elements) {
        if (float32_ == 0) {
            float32_ = std::exchange(next_static_, next_static_ + 64);
            pages.put(float32_ + 24, std::uint64_t{11} << 32U);  // the number of the type
            pages.put(float32_ + 32, 4);
        }
        const std::uint64_t shape = std::exchange(next_, next_ + 16);
        pages.put(shape, elements);
        pages.put(shape + 8, 4);  // the stride
        pages.put(address, 1);
        pages.put(address + 8, array_type);
        pages.put(address + 16, data);
        pages.put(address + 24, 1);  // number of dimensions
        pages.put(address + 32, shape);
        pages.put(address + 40, shape + 8);
        pages.put(address + 56, float32_);
        pages.put(address + 64, 4);  // it owns its data
    }

    // A block of malloc with these words. Returns the address of its content. The blocks are known to the census.
    std::uint64_t native(std::uint64_t bytes, const std::vector<std::uint64_t>& words = {}) {
        next_ = rounded_up(next_, 16);
        const std::uint64_t units = (bytes + 8 + 15) / 16;
        blocks.push_back({.start = next_, .units = static_cast<std::uint32_t>(units)});
        const std::uint64_t content = next_ + 16;
        next_ += 16 * units;
        pages.touch({content - 16, next_ + 16});
        for (std::size_t i = 0; i < words.size(); ++i) pages.put(content + 8 * i, words[i]);
        return content;
    }

    ObjectCensus census(std::uint64_t most_bytes = std::uint64_t{64} << 20, std::optional<int> version = 311,
                        Seconds time = Seconds{20}) {
        const PresentPages present = pages.present();
        const ReadDeadline deadline(time);
        std::vector<HeapBlock> known_blocks = blocks;
        Bytes live{};
        for (const HeapBlock& each : blocks) live.n += each.bytes();
        const PythonHeap heap{.source = pages,
                              .pages = present,
                              .maps = maps,
                              .runtime = kRuntime,
                              .version = version,
                              .pymalloc = pymalloc ? &*pymalloc : nullptr,
                              .blocks = blocks.empty() ? nullptr : &known_blocks,
                              .live = live,
                              .inherited = inherited ? &*inherited : nullptr};
        return take_object_census(heap, most_bytes, deadline, incomplete, places);
    }

    FakePages pages{};
    ProcessMaps maps{};
    std::map<HeapGap, std::uint64_t> incomplete{};
    std::vector<ContainerPlace> places{};  // of the last census
    std::optional<Pymalloc> pymalloc{};
    std::vector<HeapBlock> blocks{};
    std::optional<PresentPages> inherited{};  // of a forked process
    std::uint64_t type_type = 0, object_type = 0, dict_type = 0, list_type = 0, tuple_type = 0, text_type = 0,
                  int_type = 0, float_type = 0, module_type = 0, array_type = 0;

  private:
    std::uint64_t block(std::uint64_t size) {
        constexpr std::uint64_t kHead = sizeof(PoolHead);
        const std::uint64_t bytes = rounded_up(std::max<std::uint64_t>(size, 16), 16), index = bytes / 16 - 1;
        OpenPool& open = open_[index];
        if (open.start == 0 || open.used + bytes > kPoolBytes) {
            open = {std::exchange(next_pool_, next_pool_ + kPoolBytes), kHead};
            if (open.start % kArena == 0) pymalloc->arenas.push_back({open.start, open.start + kArena});
        }
        const std::uint64_t block = open.start + open.used;
        open.used += bytes;
        pages.put(open.start, (open.used - kHead) / bytes);
        for (const std::uint64_t at : {8, 16, 24}) pages.put(open.start + at, 0);  // no free block
        pages.put(open.start + 32, index << 32U);
        pages.put(open.start + 40, open.used | (kPoolBytes - bytes) << 32U);
        return block;
    }
    void bytes(std::uint64_t address, std::string_view text) {
        for (std::size_t i = 0; i <= text.size(); i += 8) {
            std::uint64_t word = 0;
            for (std::size_t j = 0; j < 8 && i + j < text.size(); ++j)
                word |= std::uint64_t{static_cast<unsigned char>(text[i + j])} << (8 * j);
            pages.put(address + i, word);
        }
    }
    void add_range(std::uint64_t start, std::uint64_t end, std::string path, std::uint64_t inode) {
        MappedRange range;
        range.start = start;
        range.end = end;
        range.readable = range.writable = true;
        range.path = std::move(path);
        range.inode = inode;
        maps.ranges.push_back(std::move(range));
    }
    struct OpenPool {
        std::uint64_t start = 0, used = 0;
    };
    std::map<std::uint64_t, OpenPool> open_{};  // by size of the blocks
    std::uint64_t code_type_ = 0, float32_ = 0, frame_ = 0;
    std::uint64_t next_pool_ = kPools;
    std::uint64_t next_ = kHeap;
    std::uint64_t next_static_ = kStatics + 0x10000;
};

}  // namespace memscope
