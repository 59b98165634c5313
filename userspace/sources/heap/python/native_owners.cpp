#include "sources/heap/python/native_owners.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>

namespace memscope {
namespace {

constexpr std::uint64_t kAlwaysRead = 4096;        // bytes of a block; larger ones only if they look like pointers
constexpr std::uint64_t kLargestTable = 64 << 10;  // larger ones only if a quarter of their words are pointers
constexpr std::size_t kPart = 256 << 10;           // bytes that are scanned at once
constexpr std::size_t kAhead = std::size_t{1} << 20;
constexpr std::uint8_t kNoVector = 255;
constexpr std::uint64_t kNearStart = 64;  // most pointers in static data point to the first bytes of a block

Address word_in(const std::byte* bytes) {
    Address word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

}  // namespace

NativeOwners::NativeOwners(ObjectGraph& graph, NativeBlocks& blocks, MemorySource& source, const PresentPages& pages)
    : graph_(graph), blocks_(blocks), pages_(pages), memory_(graph.reader().memory()), window_(source, pages) {
    fields_.push_back(nullptr);
    named_.push_back(false);
}

std::uint64_t NativeOwners::resident(Number block) const {
    const std::uint64_t bytes = blocks_.bytes(block);
    if (bytes <= kLargestTable) return bytes;
    const Address start = blocks_.content(block);
    return std::min(bytes, pages_.bytes_in({start, start + bytes}));
}

std::size_t NativeOwners::memory() const {
    return first_.bytes() + targets_.bytes() + field_.bytes() + class_.capacity() * sizeof(Class) +
           junk_.capacity() * sizeof(std::uint64_t) + vector_end_.capacity() + fields_.size() * sizeof(Fields) +
           owner_.capacity() * sizeof(std::uint32_t) + tier_.capacity();
}

// Whether a block begins with a pointer to a vtable, or to another constant of a library.
bool NativeOwners::is_class(Address first_word) {
    if (first_word < ObjectData::kLowest || first_word % 8 != 0) return false;
    const MappedRange* range = memory_.range_at(first_word);
    return range != nullptr && range->inode != 0 && !range->executable && range->readable;
}

NativeOwners::Class NativeOwners::class_by_key(std::uint64_t key, bool named) {
    constexpr std::size_t kMost = 20'000;
    const auto known = class_by_key_.find(key);
    if (known != class_by_key_.end()) return known->second;
    if (fields_.size() >= kMost) return 0;
    fields_.push_back(std::make_unique<Fields>());
    named_.push_back(named);
    return class_by_key_[key] = static_cast<Class>(fields_.size() - 1);
}

// A std::vector is three words: begin, end, end of its memory. Behind its end is stale memory.
void NativeOwners::note_vector(const std::byte* words, Number target) {
    constexpr std::uint64_t kSlack = 40;  // of malloc
    const Address begin = word_in(words), end = word_in(words + 8), room = word_in(words + 16);
    const Address last = blocks_.content_end(target);
    if (begin != blocks_.content(target) || end < begin || room < end || room > last || last - room > kSlack ||
        (end - begin) % 8 != 0)
        return;
    std::uint8_t& known = vector_end_[target];
    const auto used = static_cast<std::uint8_t>(std::min<std::uint64_t>((end - begin) / 8, kNoVector - 1));
    known = known == kNoVector ? used : std::max(known, used);
}

void NativeOwners::scan_words(Number block, const std::byte* bytes, std::size_t size, std::size_t field,
                              Fields* fields) {
    constexpr std::size_t kLast = kFields - 1;
    const PythonPools& pools = graph_.pools();
    Number last = NativeBlocks::kNone;
    for (std::size_t at = 0; at + 8 <= size; at += 8, ++field) {
        const Address word = word_in(bytes + at);
        if (word < ObjectData::kLowest || word >> 56U != 0) {
            if (word != 0 && fields != nullptr) (*fields)[std::min(field, kLast)].add(false);
            if (word != 0 && fields == nullptr) junk_[block] |= std::uint64_t{1} << std::min(field, kLast);
            continue;
        }
        const Number target = blocks_.find(word);
        const bool is_live = target != NativeBlocks::kNone || pools.contains(word);
        if (fields != nullptr)
            (*fields)[std::min(field, kLast)].add(is_live);
        else if (!is_live)
            junk_[block] |= std::uint64_t{1} << std::min(field, kLast);
        if (target == NativeBlocks::kNone || target == block || !is_free_of_claims(target)) continue;
        if (at + 24 <= size && fields != nullptr) note_vector(bytes + at, target);
        if (target == last) continue;
        last = target;
        targets_.push_back(target);
        field_.push_back(static_cast<std::uint8_t>(std::min(field, kLast)));
    }
}

// Of 128 words in two places of a block, enough point to the first bytes of a block.
bool NativeOwners::looks_like_pointers(Number block, Address limit) {
    constexpr std::size_t kWords = 64;
    const std::uint64_t bytes = blocks_.bytes(block);
    const std::size_t least = bytes > kLargestTable ? kWords / 4 : 1;
    std::size_t hits = 0;
    for (const Address at : {blocks_.content(block), blocks_.content(block) + rounded_down(bytes / 2, 4096)}) {
        if (at + kWords * 8 > blocks_.content_end(block)) continue;
        const std::byte* words = window_.at(at, kWords * 8, limit, kWords * 8);
        for (std::size_t i = 0; i < kWords; ++i) {
            const Address word = word_in(words + 8 * i);
            if (word % 8 != 0 || word < ObjectData::kLowest) continue;
            const Number target = blocks_.find(word);
            if (target != NativeBlocks::kNone && word - blocks_.content(target) <= kNearStart) ++hits;
        }
    }
    return hits >= least;
}

void NativeOwners::scan(Number block, Address limit) {
    const Address from = blocks_.content(block), to = blocks_.content_end(block);
    const std::uint64_t bytes = to - from;
    if (bytes > kAlwaysRead && (pages_.bytes_in({from, to}) == 0 || !looks_like_pointers(block, limit))) return;
    Fields* fields = nullptr;
    if (blocks_.kind(block) != NativeBlocks::Kind::mapping && bytes >= 8)
        if (const Address first = word_in(window_.at(from, 8, limit, kAhead)); is_class(first)) {
            class_[block] = class_by_key(first, true);
            if (class_[block] != 0) fields = fields_[class_[block]].get();
        }
    for (Address at = from; at < to && !memory_.late();) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPart, to - at));
        scan_words(block, window_.at(at, size, limit, kAhead), size, (at - from) / 8, fields);
        at += size;
    }
}

void NativeOwners::read_words() {
    constexpr std::uint64_t kRun = std::uint64_t{1} << 20U, kSkipped = 16 << 10;
    const Number count = blocks_.size();
    class_.assign(count, 0);
    junk_.assign(count, 0);
    vector_end_.assign(count, kNoVector);
    Address run_end = 0;  // of what is read ahead: it ends before a large block
    for (Number block = 0; block < count; ++block) {
        first_.push_back(static_cast<std::uint32_t>(targets_.size()));
        if (memory_.late() || targets_.size() >= ~std::uint32_t{0} - kPart) {
            late_ = true;
            continue;
        }
        if (!is_scanned(block)) continue;
        if (blocks_.content(block) >= run_end) {
            run_end = blocks_.content_end(block);
            for (Number next = block + 1;
                 next < count && blocks_.bytes(next) <= kSkipped && blocks_.content(next) - run_end < kAlwaysRead &&
                 run_end - blocks_.content(block) < kRun;
                 ++next)
                run_end = blocks_.content_end(next);
        }
        scan(block, std::max(run_end, blocks_.content_end(block)));
    }
    first_.push_back(static_cast<std::uint32_t>(targets_.size()));
}

bool NativeOwners::is_sure(Number from, std::uint32_t edge) const {
    const std::uint8_t field = field_[edge];
    return class_[from] != 0 && field < vector_end_[from] && (*fields_[class_[from]])[field].is_pointer();
}

// A block without a class gets one from what points to it, and from its size. Links of a list or a tree have the class
// of their neighbours.
void NativeOwners::derive_class(Number block, std::uint64_t source, std::uint64_t field) {
    constexpr std::uint64_t kMark = std::uint64_t{1} << 63U, kMostUnits = std::uint64_t{1} << 30U;
    if (class_[block] != 0 || blocks_.kind(block) == NativeBlocks::Kind::mapping) return;
    const std::uint64_t units = std::min(blocks_.bytes(block) / 16, kMostUnits);
    class_[block] = class_by_key(kMark | (source & 0x1FFFF) << 40U | (field & 0xFF) << 32U | units, false);
}

void NativeOwners::count_use(Number block) {
    if (class_[block] == 0 || named_[class_[block]]) return;
    Fields& fields = *fields_[class_[block]];
    for (std::uint32_t e = first_[block]; e < first_[block + 1]; ++e)
        if (field_[e] < vector_end_[block]) fields[field_[e]].add(true);
    for (std::uint64_t junk = junk_[block]; junk != 0; junk &= junk - 1) {
        const auto field = static_cast<std::size_t>(std::countr_zero(junk));
        if (field < vector_end_[block]) fields[field].add(false);
    }
}

// The nearest common dominator.
std::uint32_t NativeOwners::common(std::uint32_t a, std::uint32_t b) {
    constexpr int kMostSteps = 10'000;
    if (a >= kLost || b >= kLost) return a;
    for (int i = 0; a != b; ++i) {
        if (i == kMostSteps) return 0;
        if (a > b)
            a = dominators_->above[a];
        else
            b = dominators_->above[b];
    }
    return a;
}

void NativeOwners::visit(Number block, std::uint32_t owner, Tier tier) {
    if (tier_[block] == Tier::none) {
        tier_[block] = tier;
        owner_[block] = owner;
        waiting_.push_back(block);
    } else if (tier_[block] == tier && owner_[block] != owner) {
        // A structure that two large structures share would be walked again and again.
        const std::uint64_t most = 8 * (std::uint64_t{blocks_.size()} + targets_.size());
        const std::uint32_t both = ++merges_ > most ? 0 : common(owner_[block], owner);
        if (both == owner_[block]) return;
        owner_[block] = both;
        waiting_.push_back(block);
    }
}

// Level by level: the use of fields is counted in all blocks of a level before their words are followed.
void NativeOwners::run(Tier tier, bool any_word) {
    for (std::size_t begin = 0; begin < waiting_.size() && !memory_.late();) {
        const std::size_t end = waiting_.size();
        for (std::size_t i = begin; i < end; ++i) count_use(waiting_[i]);
        for (; begin < end; ++begin) {
            const Number block = waiting_[begin];
            for (std::uint32_t e = first_[block]; e < first_[block + 1]; ++e) {
                if (!any_word && !is_sure(block, e)) continue;
                const Number target = targets_[e];
                if (tier_[target] == Tier::none) {
                    const std::uint64_t units = blocks_.bytes(target) / 16;
                    if (class_[block] != 0 && !named_[class_[block]] && blocks_.bytes(block) / 16 == units &&
                        class_[target] == 0)
                        class_[target] = class_[block];
                    derive_class(target, class_[block], class_[block] != 0 && named_[class_[block]] ? field_[e] : 255);
                }
                visit(target, owner_[block], tier);
            }
        }
    }
    late_ |= memory_.late();
    waiting_.clear();
}

NativeOwners::Tier NativeOwners::tier_of_node(NodeNumber node) const {
    const auto held = graph_.held_by(node);
    if (!held) return Tier::none;
    switch (*held) {
        case ObjectRoot::module:
        case ObjectRoot::frame:
        case ObjectRoot::temporary:
        case ObjectRoot::interpreter:
        case ObjectRoot::library:
            return Tier::python;
        case ObjectRoot::native:
            return Tier::held;
        case ObjectRoot::garbage:
        case ObjectRoot::cpp:
            return Tier::garbage;
    }
    return Tier::none;
}

void NativeOwners::start_from_objects(Tier tier) {
    constexpr std::uint64_t kFromObject = 0x10000;
    const auto place_of = [&](NodeNumber node) {
        return node < dominators_->place.size() ? dominators_->place[node] : kNoNode;
    };
    for (const ObjectGraph::NativeWord& word : graph_.native_words()) {
        if (tier_of_node(word.from) != tier || !is_free_of_claims(word.to) || place_of(word.from) == kNoNode) continue;
        if (tier_[word.to] == Tier::none) derive_class(word.to, kFromObject | graph_.type(word.from).index, 255);
        visit(word.to, place_of(word.from), tier);
    }
    // Objects of C++ that are nodes of the graph.
    for (Number block = 0; block < blocks_.size(); ++block) {
        if (blocks_.kind(block) != NativeBlocks::Kind::cpp || tier_of_node(blocks_.node(block)) != tier) continue;
        const std::uint32_t place = place_of(blocks_.node(block));
        if (place == kNoNode) continue;
        tier_[block] = tier;
        owner_[block] = place;
        waiting_.push_back(block);
    }
    run(tier, false);
}

void NativeOwners::start_from_memory(std::span<const HeapRange> ranges, std::uint32_t owner, Tier tier) {
    constexpr std::size_t kRead = 64 << 10;
    constexpr std::uint64_t kFromMemory = 0x1FF00;
    window_.forget();
    for (const HeapRange& range : ranges)
        for (Address at = rounded_up(range.start, 8); at + 8 <= range.end && !memory_.late(); at += kRead) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kRead, range.end - at)) / 8 * 8;
            if (size == 0 || pages_.bytes_in({at, at + size}) == 0) continue;
            const std::byte* bytes = window_.at(at, size, range.end, kRead);
            for (std::size_t i = 0; i + 8 <= size; i += 8) {
                const Address word = word_in(bytes + i);
                if (word < ObjectData::kLowest || word % 8 != 0) continue;
                const Number target = blocks_.find(word);
                if (target == NativeBlocks::kNone || word - blocks_.content(target) > kNearStart ||
                    !is_free_of_claims(target) || tier_[target] != Tier::none)
                    continue;
                derive_class(target, kFromMemory | static_cast<std::uint64_t>(tier), 255);
                visit(target, owner, tier);
            }
        }
    run(tier, false);
}

std::string NativeOwners::class_name(Address vtable) {
    constexpr std::size_t kLongestMangled = 400, kLongestName = 100;
    const auto [known, is_new] = class_names_.try_emplace(vtable);
    if (!is_new) return known->second;
    if (!is_class(vtable)) return {};
    const Address info = memory_.word(vtable - 8);
    if (memory_.word(vtable - 16) != 0 || info % 8 != 0 || !is_class(info)) return {};
    std::string mangled = memory_.c_string(memory_.word(info + 8), kLongestMangled);
    if (mangled.starts_with('*')) mangled.erase(0, 1);
    if (mangled.empty()) return {};
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
    if (status == 0) known->second = std::string(plain.get()).substr(0, kLongestName);
    return known->second;
}

std::uint32_t NativeOwners::group_of(Number block) {
    constexpr std::size_t kMostGroups = 10'000;
    const Address content = blocks_.content(block);
    std::string name = class_[block] != 0 && named_[class_[block]] ? class_name(memory_.word(content)) : std::string();
    const std::uint64_t size = blocks_.content_end(block) - content;
    const auto key = std::pair(std::move(name), size);
    if (const auto known = groups_.find(key); known != groups_.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(unreached_.groups.size());
    if (number >= kMostGroups) return number - 1;
    unreached_.groups.push_back({.type = key.first, .size = Bytes{size}});
    groups_.emplace(key, number);
    return number;
}

// What no root reaches: blocks to which nothing points, what they hold, and blocks that only point to each other.
void NativeOwners::find_lost() {
    const Number count = blocks_.size();
    std::vector<bool> pointed(count), stale(count);  // by a block that is not reached; by one that is
    for (Number block = 0; block < count; ++block)
        for (std::uint32_t e = first_[block]; e < first_[block + 1]; ++e)
            (tier_[block] == Tier::none && blocks_.kind(block) == NativeBlocks::Kind::raw ? pointed
                                                                                          : stale)[targets_[e]] = true;
    const auto is_open = [&](Number block) {
        return tier_[block] == Tier::none && blocks_.kind(block) == NativeBlocks::Kind::raw;
    };
    std::vector<std::uint64_t> entries;
    const auto begin = [&](Number block) {
        const std::uint32_t group = group_of(block);
        derive_class(block, 0x1FE00, 255);
        visit(block, kLost + group, Tier::lost);
        ++unreached_.groups[group].blocks;
    };
    PythonTypes& types = graph_.reader().types();
    for (Number block = 0; block < count && !memory_.late(); ++block) {
        if (!is_open(block) || pointed[block] || stale[block]) continue;
        // An object of Python with a block of its own.
        if (blocks_.bytes(block) > PythonPools::kLargestBlock) {
            const Address content = blocks_.content(block);
            for (const std::uint64_t before : {0, 16, 32}) {
                const PythonType* type = types.of(content + before);
                if (type == nullptr || type->head != before || !graph_.reader().data().is_alive(content + before))
                    continue;
                lost_objects_.push_back(content + before);
                visit(block, kProbable, Tier::held);
                break;
            }
            if (!is_open(block)) continue;
        }
        begin(block);
    }
    run(Tier::lost, false);
    // Only uncertain words of blocks that are reached point to these.
    for (Number block = 0; block < count; ++block) {
        if (tier_[block] == Tier::none || tier_[block] >= Tier::lost) continue;
        for (std::uint32_t e = first_[block]; e < first_[block + 1]; ++e)
            if (tier_[targets_[e]] == Tier::none) {
                derive_class(targets_[e], class_[block], 254);
                visit(targets_[e], kProbable, Tier::probable);
            }
    }
    run(Tier::probable, true);
    for (Number block = 0; block < count; ++block)
        if (tier_[block] == Tier::lost) waiting_.push_back(block);
    run(Tier::lost, true);
    for (Number block = 0; block < count && !memory_.late(); ++block) {  // cycles
        if (!is_open(block)) continue;
        begin(block);
        run(Tier::lost, true);
    }
    for (Number block = 0; block < count; ++block)
        if (tier_[block] == Tier::lost) {
            const std::uint64_t bytes = resident(block);
            unreached_.bytes.n += bytes;
            ++unreached_.blocks;
            unreached_.groups[owner_[block] - kLost].bytes.n += bytes;
        }
}

void NativeOwners::find(const Dominators& dominators, const Roots& roots) {
    dominators_ = &dominators;
    owner_.assign(blocks_.size(), kNobody);
    tier_.assign(blocks_.size(), Tier::none);
    start_from_objects(Tier::python);
    start_from_memory(roots.stacks, kStack, Tier::stack);
    start_from_memory(roots.statics, kData, Tier::data);
    for (Number block = 0; block < blocks_.size(); ++block)  // its owner can compute its address
        if (blocks_.kind(block) == NativeBlocks::Kind::mapping && tier_[block] == Tier::none)
            visit(block, kMapping, Tier::mapping);
    run(Tier::mapping, false);
    start_from_objects(Tier::held);
    start_from_objects(Tier::garbage);
    if (!late_) find_lost();
    late_ |= memory_.late();
    std::ranges::stable_sort(unreached_.groups, std::greater{}, &NativeGroup::bytes);
}

std::unordered_set<NativeOwners::Number> NativeOwners::find_freed() {
    constexpr std::uint64_t kLargeBlock = 256 << 10, kFlags = 7;
    std::vector<Number> large;
    std::vector<Address> heads;
    for (Number block = 0; block < blocks_.size(); ++block) {
        const bool is_owned = owner_[block] < kLost || owner_[block] == kStack || owner_[block] == kData;
        if (is_owned || blocks_.node(block) != 0 || blocks_.bytes(block) < kLargeBlock ||
            blocks_.kind(block) == NativeBlocks::Kind::mapping)
            continue;
        large.push_back(block);
        heads.push_back(blocks_.content(block) - NativeBlocks::kHead);
    }
    const std::vector<HeapCopy::Head> now = memory_.heads_now(heads);
    std::unordered_set<Number> freed;
    for (std::size_t i = 0; i < large.size(); ++i)
        if ((now[i][1] & ~kFlags) != blocks_.bytes(large[i])) freed.insert(large[i]);
    return freed;
}

}  // namespace memscope
