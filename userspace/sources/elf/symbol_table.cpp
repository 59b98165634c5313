#include "sources/elf/symbol_table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

// SymbolTable::load reads the symbols first and then only the names that are needed. The string table of a large
// library has a hundred megabytes, and a memory watcher must not hold that much.

namespace memscope {

std::optional<std::string_view> SymbolTable::find(std::uint64_t address) const {
    const auto behind = std::upper_bound(starts_.begin(), starts_.end(), address);
    if (behind == starts_.begin()) return std::nullopt;
    const Rest& rest = rests_[static_cast<std::size_t>(behind - starts_.begin()) - 1];
    if (address - behind[-1] >= rest.size) return std::nullopt;
    return std::string_view(names_.c_str() + rest.name);  // ends at its NUL
}

bool SymbolTable::is_sound() const {
    return starts_.size() == rests_.size() && std::ranges::is_sorted(starts_) &&
           std::ranges::all_of(rests_, [this](const Rest& rest) { return rest.name <= names_.size(); });
}

std::size_t SymbolTable::bytes() const {
    return starts_.capacity() * sizeof(starts_[0]) + rests_.capacity() * sizeof(Rest) + names_.capacity();
}

namespace {

constexpr std::uint32_t kNoPlace = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kAliasLimit = 8;  // names of one function that are considered

// One function symbol.
struct Candidate {
    std::uint64_t start = 0;
    std::uint32_t size = 0;  // 0: the file does not say
    std::uint32_t room = 0;  // bytes to the end of its section
    std::uint32_t name = 0;  // offset in the string table of the file; later in `names_`
    std::uint8_t rank = 0;   // of several symbols at one address, the lowest rank wins
    std::uint8_t table = 0;  // index of its symbol table
};

// Assembler functions often have no type, and some have no size. A symbol with neither is a label inside a function.
bool is_function(const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && symbol.st_size > 0);
}

// Prefers symbols with a size to symbols without one, typed to untyped, global to local. If both tables have a symbol,
// the one of .symtab is used.
std::uint8_t rank_of(const Elf64_Sym& symbol, std::size_t table) {
    const bool is_mark = symbol.st_size == 0, is_untyped = ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE,
               is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL, is_dynamic = table > 0;
    return static_cast<std::uint8_t>(is_mark * 8U + is_untyped * 4U + is_local * 2U + is_dynamic);
}

std::uint32_t at_most_4_gib(std::uint64_t size) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, std::numeric_limits<std::uint32_t>::max()));
}

// Linkers append versions to names in .symtab (memcpy@@GLIBC_2.14). "$x" and "$d" are mapping symbols of arm64.
std::string_view plain_name(std::string_view name) {
    return name.starts_with('$') ? std::string_view() : name.substr(0, name.find('@'));
}

}  // namespace

class SymbolTableBuilder {
  public:
    Status collect(const ElfFile& file, std::uint32_t type);
    void leave_best_ranks();
    Status load_names(const ElfFile& file);
    void choose_names();
    SymbolTable build();

  private:
    void add(const Elf64_Sym& symbol, const ElfSection& section);
    void emit(std::uint64_t start, std::uint64_t end, const Candidate& candidate);
    std::string_view name_of(const Candidate& candidate) const { return table_.names_.c_str() + candidate.name; }

    std::vector<Candidate> candidates_{};
    std::vector<ElfSection> name_sections_{};  // one for each table
    SymbolTable table_{};
};

Status SymbolTableBuilder::collect(const ElfFile& file, std::uint32_t type) {
    const auto sections = file.sections();
    const auto table =
        std::find_if(sections.begin(), sections.end(), [&](const ElfSection& section) { return section.type == type; });
    if (table == sections.end() || table->link >= sections.size()) return Done{};
    name_sections_.push_back(sections[table->link]);
    const bool complete = file.for_each_symbol(*table, [&](const Elf64_Sym& symbol) {
        if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < sections.size() && is_function(symbol))
            add(symbol, sections[symbol.st_shndx]);
        return candidates_.size() <= SymbolTable::kSymbolLimit;
    });
    if (candidates_.size() > SymbolTable::kSymbolLimit) return plain_error("the file has too many symbols");
    if (!complete) return plain_error("a symbol table is too large or cannot be read");
    return Done{};
}

// Adds only symbols in executable sections. A symbol never extends beyond its section.
void SymbolTableBuilder::add(const Elf64_Sym& symbol, const ElfSection& section) {
    const std::uint64_t inside = symbol.st_value - section.address;
    if ((section.flags & SHF_EXECINSTR) == 0 || symbol.st_value < section.address || inside >= section.size) return;
    const std::uint32_t room = at_most_4_gib(section.size - inside);
    if (symbol.st_value > std::numeric_limits<std::uint64_t>::max() - room) return;
    const std::size_t table = name_sections_.size() - 1;
    candidates_.push_back({.start = symbol.st_value,
                           .size = std::min(at_most_4_gib(symbol.st_size), room),
                           .room = room,
                           .name = symbol.st_name,
                           .rank = rank_of(symbol, table),
                           .table = static_cast<std::uint8_t>(table)});
}

void SymbolTableBuilder::leave_best_ranks() {
    const auto order = [](const Candidate& c) { return std::tuple(c.start, c.rank, c.name); };
    std::sort(candidates_.begin(), candidates_.end(),
              [&](const Candidate& a, const Candidate& b) { return order(a) < order(b); });
    std::size_t kept = 0, first = 0;  // number of kept candidates, and index of the first one at the current address
    for (const Candidate& candidate : candidates_) {
        if (kept > 0 && candidates_[first].start == candidate.start) {
            if (candidates_[first].rank != candidate.rank || kept - first == kAliasLimit) continue;
        } else {
            first = kept;
        }
        candidates_[kept++] = candidate;
    }
    candidates_.resize(kept);
}

// Reads each string table once from front to back and copies the names of the candidates.
Status SymbolTableBuilder::load_names(const ElfFile& file) {
    std::vector<std::uint32_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto place = [&](std::uint32_t i) { return std::tuple(candidates_[i].table, candidates_[i].name); };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });

    constexpr std::uint64_t kReadSize = std::uint64_t{1} << 20;
    std::string chunk;
    std::uint64_t chunk_begin = 0;
    const Candidate* before = nullptr;
    std::uint32_t before_name = kNoPlace;
    int before_table = -1;
    for (const std::uint32_t i : order) {
        Candidate& candidate = candidates_[i];
        const std::uint32_t wanted = candidate.name;
        if (before && before_table == candidate.table && before_name == wanted) {
            candidate.name = before->name;
            continue;
        }
        if (before_table != candidate.table || wanted - chunk_begin >= kReadSize) {
            chunk_begin = wanted;
            chunk = file.read(name_sections_[candidate.table], wanted, kReadSize + SymbolTable::kNameLimit);
        }
        before = &candidate;
        before_table = candidate.table;
        before_name = wanted;
        const std::uint64_t at = wanted - chunk_begin;
        std::string_view name = at < chunk.size() ? std::string_view(chunk).substr(at, SymbolTable::kNameLimit) : "";
        name = plain_name(name.substr(0, name.find('\0')));
        candidate.name = name.empty() ? kNoPlace : static_cast<std::uint32_t>(table_.names_.size());
        if (name.empty()) continue;
        table_.names_.append(name).push_back('\0');
        if (table_.names_.size() > SymbolTable::kNamesLimit)
            return plain_error("the names of its symbols are too long in total");
    }
    return Done{};
}

// Prefers `read` to `__read` and `malloc` to `__libc_malloc`. Other ties only need a deterministic choice.
void SymbolTableBuilder::choose_names() {
    std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.name == kNoPlace; });
    const auto preference = [&](const Candidate& candidate) {
        const std::string_view name = name_of(candidate);
        return std::tuple(std::min(name.find_first_not_of('_'), name.size()), name.size(), name);
    };
    std::size_t kept = 0;
    for (const Candidate& candidate : candidates_) {
        if (kept == 0 || candidates_[kept - 1].start != candidate.start)
            candidates_[kept++] = candidate;
        else if (preference(candidate) < preference(candidates_[kept - 1]))
            candidates_[kept - 1] = candidate;
    }
    candidates_.resize(kept);
    for (std::size_t i = 0; i < kept; ++i) {
        Candidate& candidate = candidates_[i];
        if (candidate.size != 0) continue;
        candidate.size = candidate.room;  // without a size, the function ends where the next one begins
        if (i + 1 < kept)
            candidate.size = std::min(candidate.room, at_most_4_gib(candidates_[i + 1].start - candidate.start));
    }
}

// Functions may be nested. The address belongs to the function that begins last.
SymbolTable SymbolTableBuilder::build() {
    const auto end_of = [](const Candidate* candidate) { return candidate->start + candidate->size; };
    std::vector<const Candidate*> open;
    std::uint64_t done = 0;
    const auto close_until = [&](std::uint64_t address) {
        while (!open.empty()) {
            const std::uint64_t end = std::min(end_of(open.back()), address);
            if (done < end) emit(done, end, *open.back());
            done = std::max(done, end);
            if (end_of(open.back()) > address) return;
            open.pop_back();
        }
    };
    for (const Candidate& candidate : candidates_) {
        close_until(candidate.start);
        done = candidate.start;
        open.push_back(&candidate);
    }
    close_until(std::numeric_limits<std::uint64_t>::max());
    table_.starts_.shrink_to_fit();
    table_.rests_.shrink_to_fit();
    table_.names_.shrink_to_fit();
    return std::move(table_);
}

void SymbolTableBuilder::emit(std::uint64_t start, std::uint64_t end, const Candidate& candidate) {
    table_.starts_.push_back(start);
    table_.rests_.push_back({.size = static_cast<std::uint32_t>(end - start), .name = candidate.name});
}

Result<SymbolTable> SymbolTable::load(const ElfFile& file) {
    SymbolTableBuilder builder;
    for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM})
        if (const auto collected = builder.collect(file, type); !collected) return collected.error();
    builder.leave_best_ranks();
    if (const auto loaded = builder.load_names(file); !loaded) return loaded.error();
    builder.choose_names();
    return builder.build();
}

std::shared_ptr<const ModuleSymbols> SymbolCache::find(const FileIdentity& file) {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(file);
    if (place == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, place->second);
    return order_.front().second;
}

std::shared_ptr<const ModuleSymbols> SymbolCache::keep(const FileIdentity& file, ModuleSymbols symbols) {
    const std::lock_guard lock(mutex_);
    if (const auto place = places_.find(file); place != places_.end()) return place->second->second;
    Kept kept = equal_to(symbols);
    if (!kept) kept = std::make_shared<const ModuleSymbols>(std::move(symbols));
    order_.emplace_front(file, kept);
    places_.emplace(file, order_.begin());
    while (order_.size() > 1 && (order_.size() > limits_.files || held() > limits_.bytes)) drop_oldest();
    return kept;
}

std::shared_ptr<const ModuleSymbols> SymbolCache::equal_to(const ModuleSymbols& symbols) const {
    if (!symbols.build_id) return nullptr;
    const auto same = std::find_if(order_.begin(), order_.end(), [&](const auto& entry) {
        const ModuleSymbols& other = *entry.second;
        return other.build_id == symbols.build_id && other.segments == symbols.segments && other.table == symbols.table;
    });
    return same == order_.end() ? nullptr : same->second;
}

void SymbolCache::drop_oldest() {
    places_.erase(order_.back().first);
    order_.pop_back();
}

// Symbols that several files share count once.
std::size_t SymbolCache::held() const {
    std::set<const ModuleSymbols*> seen;
    std::size_t bytes = 0;
    for (const auto& [file, symbols] : order_)
        if (seen.insert(symbols.get()).second) bytes += symbols->table.bytes();
    return bytes;
}

std::size_t SymbolCache::files() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
}

std::size_t SymbolCache::bytes() const {
    const std::lock_guard lock(mutex_);
    return held();
}

}  // namespace memscope
