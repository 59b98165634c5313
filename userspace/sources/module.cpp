#include "sources/module.h"

namespace memscope {
namespace {

// Whether a page has these bytes, given as hex digits, in it.
bool holds(const std::string& page, const std::string& digits) {
    const auto value = [&](std::size_t i) {
        return static_cast<unsigned>(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
    };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) bytes += static_cast<char>(value(i) * 16 + value(i + 1));
    return page.find(bytes) != std::string::npos;
}

}  // namespace

bool ModuleFile::has_device_of(const FileIdentity& found) const {
    return dev_major == found.dev_major && dev_minor == found.dev_minor;
}

Module::Module(std::string name, ModuleFile file, pid_t pid, std::shared_ptr<OpenFiles> open_files)
    : name_(std::move(name)),
      identity_(file.identity),
      open_files_(std::move(open_files)),
      pid_(pid),
      file_(std::move(file)) {
    if (file_.handle || file_.root) ++*open_files_;
}

Module::~Module() { let_go(); }

void Module::let_go() {
    if (file_.handle || file_.root) --*open_files_;
    file_.handle = Fd();
    file_.root.reset();
}

std::shared_ptr<const ModuleSymbols> Module::symbols(const SysRoot& root, SymbolCache& cache) {
    if (failed_ || !open_files_) return nullptr;
    const std::lock_guard lock(mutex_);
    if (loaded_)
        if (auto symbols = cache.find(*loaded_)) return symbols;
    auto symbols = load(root, cache);
    let_go();
    // What failed once is not tried again: the process it was found in may be another one by then.
    failed_ = !symbols;
    return symbols;
}

// Where it has not been found yet or was let go: through the process that had it last, then as we have it ourselves.
Fd Module::look_up(const SysRoot& root) const {
    const auto below = [&](const ProcessRoot& its_root) -> Fd {
        auto found = find_below(its_root, name_, Lookup::may_wait);
        const auto identity = found ? identity_of(*found) : std::nullopt;
        return identity && identity->inode == file_.inode ? std::move(*found) : Fd();
    };
    if (file_.root)
        if (Fd found = below(*file_.root)) return found;
    for (const std::string& process : {std::to_string(pid_), std::string("self")})
        if (const auto its_root = root_of(root, process))
            if (Fd found = below(*its_root)) return found;
    return {};
}

// The mapping keeps the inode from being given to another file, and so does a handle: inode and device are proof then.
// What is looked up later must have changed in nothing.
bool Module::is_mapped_one(const FileIdentity& found, const ElfFile& file) const {
    if (loaded_ && !file_.handle) return found == *loaded_;
    if (!file_.handle && identity_ && found != *identity_) return false;
    if (found.inode != file_.inode) return false;
    if (file_.has_device_of(found)) return true;
    const auto build_id = file.build_id();
    const std::string& page = file_.first_page;
    return build_id && holds(page, *build_id) && file.read(0, page.size()) == page;
}

std::shared_ptr<const ModuleSymbols> Module::load(const SysRoot& root, SymbolCache& cache) {
    const Fd looked_up = file_.handle ? Fd() : look_up(root);
    const Fd& handle = file_.handle ? file_.handle : looked_up;
    const auto identity = identity_of(handle);
    if (!identity) return nullptr;
    const auto opened = open_found(handle);
    if (!opened) return nullptr;
    const auto file = ElfFile::open(*opened);
    if (!file || !is_mapped_one(*identity, *file)) return nullptr;
    loaded_ = identity;
    if (auto symbols = cache.find(*identity)) return symbols;
    auto table = SymbolTable::load(*file);
    if (!table) return nullptr;
    const auto segments = file->segments();
    return cache.keep(
        *identity,
        {.segments = {segments.begin(), segments.end()}, .table = std::move(*table), .build_id = file->build_id()});
}

}  // namespace memscope
