//! The layer itself: SQLite's `unix` file system with the calls that change files replaced.
//!
//! The layer is a copy of the `unix` table with another `xOpen` and `xDelete`. A file that it opens is an ordinary file of `unix`
//! whose table of methods is exchanged for a copy with other `xWrite`, `xTruncate`, `xSync`, `xFileControl` and `xClose`;
//! locks, reads and shared memory never pass through here. Directory syncs are seen where `unix` makes them, at its
//! replaceable system call `openDirectory`.
//!
//! Each replaced call holds one lock from before the account is changed until `unix` has returned, so the account is in the order of the files.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::ffi;

use crate::fault::Fault;
use crate::moment::{Moment, Role};
use crate::plant::{Handle, Plan, Plant};

type Methods = ffi::sqlite3_io_methods;
type Open = unsafe extern "C" fn(
    *mut ffi::sqlite3_vfs,
    ffi::sqlite3_filename,
    *mut ffi::sqlite3_file,
    c_int,
    *mut c_int,
) -> c_int;
type Delete = unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *const c_char, c_int) -> c_int;
type OpenDirectory = unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int;

/// The one layer of this process.
static LAYER: OnceLock<Layer> = OnceLock::new();
/// Whether `unix` has opened a directory, which it only does to sync it.
static DIRECTORY_OPENED: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
struct Layer {
    open: Open,
    delete: Delete,
    open_directory: OpenDirectory,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    plant: Plant,
    /// By where SQLite keeps the file; with the methods of `unix`.
    files: BTreeMap<usize, (Handle, &'static Methods)>,
    /// The replaced methods, by where those of `unix` are.
    tables: BTreeMap<usize, &'static Methods>,
}

/// Makes the layer the default file system of this process; `on_loss` is called when the power has failed.
///
/// # Panics
///
/// If a layer was installed before, if SQLite was built without its `unix` file system, or if the directory cannot be read.
pub fn install(plan: Plan, on_loss: impl FnOnce(Moment) + Send + 'static) {
    let fault = plan.fault;
    let plant = Plant::start(plan, Box::new(on_loss)).expect("the directory can be read");
    // SAFETY: the name ends with NUL; the answer is null or stays registered as long as the process lives.
    let unix = unsafe { ffi::sqlite3_vfs_find(c"unix".as_ptr()) };
    // SAFETY: as above; nothing changes the table while it is copied.
    let mut copy = *unsafe { unix.as_ref() }.expect("SQLite has its unix file system");
    let layer = Layer {
        open: copy.xOpen.expect("unix opens files"),
        delete: copy.xDelete.expect("unix deletes files"),
        open_directory: replace_open_directory(unix, &copy),
        state: Mutex::new(State {
            plant,
            files: BTreeMap::new(),
            tables: BTreeMap::new(),
        }),
    };
    LAYER.set(layer).expect("one layer per process");
    copy.zName = c"semel-powerloss".as_ptr();
    copy.pNext = ptr::null_mut();
    copy.xOpen = Some(open);
    copy.xDelete = Some(delete);
    // SAFETY: the table is complete and is never freed.
    let registered = unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(copy)), 1) };
    assert_eq!(registered, ffi::SQLITE_OK, "the layer is registered");
    if fault.is_some_and(|fault| fault.first_statement().is_some()) {
        // SAFETY: the function has the signature that SQLite calls.
        let extended = unsafe { ffi::sqlite3_auto_extension(Some(begin_connection)) };
        assert_eq!(extended, ffi::SQLITE_OK, "connections begin as asked");
    }
}

/// Lets `unix` tell when it syncs a directory; what it called before.
fn replace_open_directory(unix: *mut ffi::sqlite3_vfs, table: &ffi::sqlite3_vfs) -> OpenDirectory {
    let name = c"openDirectory".as_ptr();
    let get = table.xGetSystemCall.expect("unix names its system calls");
    let set = table.xSetSystemCall.expect("unix lets them be replaced");
    // SAFETY: `unix` is the file system that these functions belong to, and the name ends with NUL.
    let original = unsafe { get(unix, name) }.expect("unix opens directories");
    let replaced: OpenDirectory = open_directory;
    // SAFETY: both are C functions; SQLite stores system calls without their signatures and calls this one with that of
    // `OpenDirectory`.
    let (original, replaced) = unsafe {
        (
            std::mem::transmute::<unsafe extern "C" fn(), OpenDirectory>(original),
            std::mem::transmute::<OpenDirectory, unsafe extern "C" fn()>(replaced),
        )
    };
    // SAFETY: as for `get`.
    let set = unsafe { set(unix, name, Some(replaced)) };
    assert_eq!(set, ffi::SQLITE_OK, "a system call is replaced");
    original
}

fn layer() -> &'static Layer {
    LAYER.get().expect("the layer is installed")
}

fn state() -> MutexGuard<'static, State> {
    let state = layer().state.lock();
    state.unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn file(&self, file: *mut ffi::sqlite3_file) -> (Handle, &'static Methods) {
        let found = self.files.get(&file.addr());
        *found.expect("only files of the layer have its methods")
    }

    /// The methods of `unix` with those replaced that change files.
    fn table(&mut self, unix: &'static Methods) -> &'static Methods {
        let no_memory = self.plant.has(Fault::NoSharedMemory);
        self.tables
            .entry(ptr::from_ref(unix).addr())
            .or_insert_with(|| {
                let mut table = *unix;
                if no_memory {
                    // The first version of the interface has no methods for shared memory.
                    table.iVersion = 1;
                }
                table.xWrite = Some(write);
                table.xTruncate = Some(truncate);
                table.xSync = Some(sync);
                table.xFileControl = Some(file_control);
                table.xClose = Some(close);
                Box::leak(Box::new(table))
            })
    }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    mut flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let role = role_of(flags);
    let mut state = state();
    if role == Some(Role::Database) && state.plant.has(Fault::ReadOnly) {
        flags &= !(ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE);
        flags |= ffi::SQLITE_OPEN_READONLY;
    }
    // SAFETY: SQLite's own arguments, for the function that they are meant for.
    let code = unsafe { (layer().open)(vfs, name, file, flags, flags_out) };
    let (Some(role), ffi::SQLITE_OK) = (role, code) else {
        return code;
    };
    // SAFETY: databases, logs and journals have names, which end with NUL and outlive the file.
    let handle = state.plant.open(unsafe { path_of(&name) }, role);
    // SAFETY: the file was opened just now, so its methods are a table of `unix`, which are all static.
    let unix: &'static Methods = unsafe { &*(*file).pMethods };
    let table = state.table(unix);
    state.files.insert(file.addr(), (handle, unix));
    // SAFETY: SQLite has not seen the file yet; the table is never freed.
    unsafe { (*file).pMethods = table };
    code
}

/// What a file is for; temporary ones may vanish and are left alone.
fn role_of(flags: c_int) -> Option<Role> {
    let is = |flag| flags & flag != 0;
    if is(ffi::SQLITE_OPEN_MAIN_DB) {
        Some(Role::Database)
    } else if is(ffi::SQLITE_OPEN_WAL) {
        Some(Role::Log)
    } else if is(ffi::SQLITE_OPEN_MAIN_JOURNAL) {
        Some(Role::Journal)
    } else {
        None
    }
}

/// # Safety
///
/// The name ends with NUL and lives as long as the reference to it.
unsafe fn path_of(name: &*const c_char) -> &Path {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(*name) };
    Path::new(OsStr::from_bytes(name.to_bytes()))
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    let mut state = state();
    // SAFETY: SQLite's names end with NUL and live as long as the call.
    state.plant.delete(unsafe { path_of(&name) });
    DIRECTORY_OPENED.store(false, Ordering::Relaxed);
    // SAFETY: SQLite's own arguments, for the function that they are meant for.
    let code = unsafe { (layer().delete)(vfs, name, sync_directory) };
    if DIRECTORY_OPENED.load(Ordering::Relaxed) {
        state.plant.directory_synced();
    }
    code
}

unsafe extern "C" fn open_directory(name: *const c_char, descriptor: *mut c_int) -> c_int {
    DIRECTORY_OPENED.store(true, Ordering::Relaxed);
    // SAFETY: the arguments of `unix`, for the function that they are meant for.
    unsafe { (layer().open_directory)(name, descriptor) }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    len: c_int,
    at: i64,
) -> c_int {
    let mut state = state();
    let (handle, unix) = state.file(file);
    let size = usize::try_from(len).expect("a length is not negative");
    // SAFETY: SQLite hands over `len` bytes, which nothing changes during the call.
    let written = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), size) };
    state.plant.write(handle, place(at), written);
    // SAFETY: SQLite's own arguments, for the method that they are meant for.
    unsafe { unix.xWrite.expect("unix writes")(file, bytes, len, at) }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, len: i64) -> c_int {
    let mut state = state();
    let (handle, unix) = state.file(file);
    state.plant.truncate(handle, place(len));
    // SAFETY: SQLite's own arguments, for the method that they are meant for.
    unsafe { unix.xTruncate.expect("unix truncates")(file, len) }
}

/// A place in a file.
fn place(at: i64) -> usize {
    usize::try_from(at).expect("a place in a file is not negative")
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let mut state = state();
    let (handle, unix) = state.file(file);
    state.plant.syncing(handle);
    if state.plant.has(Fault::SyncsIgnored) {
        return ffi::SQLITE_OK;
    }
    DIRECTORY_OPENED.store(false, Ordering::Relaxed);
    // SAFETY: SQLite's own arguments, for the method that they are meant for.
    let code = unsafe { unix.xSync.expect("unix syncs")(file, flags) };
    if code == ffi::SQLITE_OK {
        state.plant.synced(handle);
        if DIRECTORY_OPENED.load(Ordering::Relaxed) {
            state.plant.directory_synced();
        }
    }
    code
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    let (_, unix) = state().file(file);
    if operation == ffi::SQLITE_FCNTL_PRAGMA {
        // SAFETY: the argument of this operation is an array of strings.
        let answered = unsafe { answer_pragma(argument.cast()) };
        if answered {
            return ffi::SQLITE_OK;
        }
    }
    // SAFETY: SQLite's own arguments, for the method that they are meant for.
    unsafe { unix.xFileControl.expect("unix has controls")(file, operation, argument) }
}

/// Answers a pragma in the place of SQLite, if the fault asks for it.
///
/// # Safety
///
/// `strings` are SQLite's: the answer's place, the pragma's name, and its value or null.
unsafe fn answer_pragma(strings: *mut *mut c_char) -> bool {
    let Some(fault) = state().plant.fault() else {
        return false;
    };
    // SAFETY: the caller's promise; the strings end with NUL and live as long as the call.
    let (name, value) = unsafe { (text_of(&*strings.add(1)), text_of(&*strings.add(2))) };
    let answer = name.and_then(|name| fault.pragma(name, value));
    if let Some(Some(text)) = answer {
        let text = std::ffi::CString::new(text).expect("answers hold no NUL");
        // SAFETY: the format takes one string; SQLite frees what it is given in this place.
        unsafe { *strings = ffi::sqlite3_mprintf(c"%s".as_ptr(), text.as_ptr()) };
    }
    answer.is_some()
}

/// # Safety
///
/// The string is null or ends with NUL and lives as long as the reference to it.
unsafe fn text_of(string: &*mut c_char) -> Option<&str> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(*string) }.to_str().ok()
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // Another file may be opened in the same place as soon as this one is closed.
    let closed = state().files.remove(&file.addr());
    let (_, unix) = closed.expect("only files of the layer have its methods");
    // SAFETY: SQLite's own argument, for the method that it is meant for.
    unsafe { unix.xClose.expect("unix closes")(file) }
}

/// Runs the first statement of a new connection.
unsafe extern "C" fn begin_connection(
    db: *mut ffi::sqlite3,
    _message: *mut *mut c_char,
    _routines: *const ffi::sqlite3_api_routines,
) -> c_int {
    let fault = state().plant.fault();
    let Some(sql) = fault.and_then(Fault::first_statement) else {
        return ffi::SQLITE_OK;
    };
    // SAFETY: SQLite calls this with a connection that it has handed to no caller yet; the statement ends with NUL and returns no rows.
    unsafe { ffi::sqlite3_exec(db, sql.as_ptr(), None, ptr::null_mut(), ptr::null_mut()) }
}
