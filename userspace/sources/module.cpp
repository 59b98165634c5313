#include "sources/module.h"

#include <fcntl.h>

namespace memscope {
namespace {

Fd copy_of(const Fd& fd) { return fd ? Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)) : Fd(); }

}  // namespace

Module::Module(ModuleWanted file, std::shared_ptr<OpenFiles> open_files)
    : name_(file.path),
      identity_(file.identity),
      open_files_(std::move(open_files)),
      pid_(file.pid),
      file_(std::move(file)) {
    if (file_.place.handle || file_.place.root) ++*open_files_;
}

Module::~Module() { let_go(); }

void Module::let_go() {
    if (file_.place.handle || file_.place.root) --*open_files_;
    file_.place.handle = Fd();
    file_.place.root = Fd();
}

ModuleWanted Module::wanted() const {
    return {.path = name_,
            .pid = pid_,
            .place = {.handle = copy_of(file_.place.handle),
                      .identity = file_.place.identity,
                      .root = copy_of(file_.place.root),
                      .root_shown_as = file_.place.root_shown_as,
                      .first_page = file_.place.first_page},
            .dev_major = file_.dev_major,
            .dev_minor = file_.dev_minor,
            .inode = file_.inode,
            .identity = identity_,
            .loaded = loaded_};
}

// What another module of the same file has loaded. Inode and device prove that it is the same, while a handle keeps it.
std::shared_ptr<const ModuleSymbols> Module::find_cached(SymbolCache& cache) {
    if (loaded_) return cache.find(*loaded_);
    if (!file_.place.handle) return nullptr;
    const auto identity = identity_of(file_.place.handle);
    if (!identity || identity->inode != file_.inode || !file_.has_device_of(*identity)) return nullptr;
    auto symbols = cache.find(*identity);
    if (symbols) loaded_ = identity;
    return symbols;
}

std::shared_ptr<const ModuleSymbols> Module::symbols(NativeReads& reads, SymbolCache& cache, NativeReads::Wait wait) {
    if (failed_ || !open_files_) return nullptr;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (wait == NativeReads::Wait::yes)
        lock.lock();
    else if (!lock.try_lock())
        return nullptr;  // somebody else loads them
    if (auto symbols = find_cached(cache)) {
        let_go();
        return symbols;
    }
    auto loaded = reads.load(wanted(), wait);
    if (!loaded) return nullptr;
    let_go();
    // What failed once is not tried again: the process it was found in may be another one by then.
    failed_ = !*loaded;
    if (failed_) return nullptr;
    loaded_ = (*loaded)->identity;
    return cache.keep((*loaded)->identity, std::move((*loaded)->symbols));
}

}  // namespace memscope
