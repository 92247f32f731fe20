//! The only module that opens, reads, writes, locks, renames, removes or lists files.
//!
//! Files are untrusted: only regular files are opened, and none larger than the reader's limit, unless it is read in parts. A
//! file appears complete or not at all ([`Staged`]), and so does a folder ([`exchange`]). Errors are the system's, and those
//! that a function names.

mod faults;
pub mod limits;
mod locked;
mod staged;

pub use limits::{RECORD, STREAM, TEXT};
pub use locked::{Locked, first_bytes, lock, overwrite};
pub use staged::{Staged, replace, stage, sweep, temporary};

use limits::ENTRIES;
use std::ffi::OsString;
pub use std::fs::File;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub const TEMPORARY: &str = ".ictd-";
pub const NEW: &str = ".ictd-new-";

/// The kind of a file at a path, or of the file to which a link there leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Nothing, or a file that cannot be inspected.
    Nothing,
    File,
    Folder,
    Other,
}

impl Kind {
    fn of(kind: fs::FileType) -> Self {
        match (kind.is_file(), kind.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Folder,
            _ => Kind::Other,
        }
    }
}

pub fn kind(path: &Path) -> Kind {
    fs::metadata(path).map_or(Kind::Nothing, |found| Kind::of(found.file_type()))
}

/// Returns true if a path has no file, not even a link that leads nowhere.
pub fn is_free(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err()
}

pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

pub fn is_folder(path: &Path) -> bool {
    kind(path) == Kind::Folder
}

pub fn is_inside(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// Returns the last name of a folder's path, also for ".".
pub fn name_of(folder: &Path) -> String {
    let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{what}; expected a regular file"))
}

/// Opens a regular file without blocking: the other end of a pipe may never open. A file that is made follows no link.
fn opened(path: &Path, is_made: bool, options: &mut OpenOptions) -> io::Result<File> {
    faults::before()?;
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let follow = if is_made { OFlags::NOFOLLOW } else { OFlags::empty() };
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY | follow).bits() as i32);
    }
    if is_made && is_link(path) {
        return Err(refused("a link"));
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused("no regular file")) }
}

/// Opens a file. Returns an error for anything but a regular file, and for more than `limit` bytes.
pub fn open(path: &Path, limit: u64) -> io::Result<File> {
    let file = opened(path, false, OpenOptions::new().read(true))?;
    check_size(file.metadata()?.len(), limit)?;
    Ok(file)
}

/// Returns the content of a file. Returns the errors of [`open`].
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    content(open(path, limit)?, limit)
}

pub fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Reads a file like [`read`], piece by piece. Returns its errors, and those of `take`.
pub fn pieces(
    path: &Path,
    limit: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let (mut file, mut piece) = (open(path, limit)?.take(limit + 1), vec![0; 1 << 16]);
    let mut bytes = 0;
    loop {
        match file.read(&mut piece) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) => return check_size(bytes, limit),
            count => {
                let count = count?;
                bytes += count as u64;
                take(&piece[..count])?;
            }
        }
    }
}

/// Returns true if a file has exactly this content.
pub fn has(path: &Path, content: &[u8]) -> bool {
    let mut left = content;
    let take = |piece: &[u8]| match left.split_at_checked(piece.len()) {
        Some((same, rest)) if same == piece => {
            left = rest;
            Ok(())
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    };
    pieces(path, content.len() as u64, take).is_ok() && left.is_empty()
}

fn check_size(bytes: u64, limit: u64) -> io::Result<()> {
    let reason = || format!("{bytes} bytes: expected at most {limit}");
    if bytes <= limit { Ok(()) } else { Err(io::Error::new(io::ErrorKind::FileTooLarge, reason())) }
}

/// Allocates `bytes` bytes and frees them, so that missing memory is reported before it is needed.
pub fn room(bytes: u64) -> io::Result<()> {
    let mut asked = Vec::<u8>::new();
    let found = asked.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX));
    std::hint::black_box(&asked);
    let reason = || format!("{bytes} bytes of memory, which it may take, cannot be had");
    found.map_err(|_| io::Error::new(io::ErrorKind::OutOfMemory, reason()))
}

fn content(file: File, limit: u64) -> io::Result<Vec<u8>> {
    faults::before()?;
    let bytes = file.metadata()?.len();
    check_size(bytes, limit)?;
    // Two bytes of JSON or TOML may become a value; files larger than texts contain numbers.
    room(bytes.saturating_mul(if limit <= TEXT { 32 } else { 4 }))?;
    let mut content = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    // The file may have grown meanwhile.
    check_size(content.len() as u64, limit)?;
    Ok(content)
}

/// Returns the names in a folder that the user named, sorted, at most [`limits::ENTRIES`], and the kinds of the files.
pub fn list(folder: &Path) -> io::Result<Vec<(OsString, Kind)>> {
    faults::before()?;
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        found.push((entry.file_name(), Kind::of(entry.file_type()?)));
        if found.len() > ENTRIES {
            let reason = format!("more than {ENTRIES} entries");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
    }
    // Unlike a folder's, this order is the same everywhere.
    found.sort();
    Ok(found)
}

/// Returns true for a name of letters, digits, `_`, `-` and `.` that does not begin with `.`, like those of outputs.
pub fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(plain)
}

/// Makes a folder and its parents.
pub fn make_folders(path: &Path) -> io::Result<()> {
    if is_folder(path) {
        return Ok(());
    }
    faults::before()?;
    fs::create_dir_all(path)?;
    sync_folder(parent(path))
}

/// Removes a file, or a link itself, if it exists.
pub fn remove(path: &Path) -> io::Result<()> {
    faults::before()?;
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Removes a folder with everything in it; files whose names begin with `.`, which may mark it, come last.
pub fn remove_all(path: &Path) -> io::Result<()> {
    for (name, kind) in list(path)?.into_iter().rev() {
        let inside = path.join(name);
        if kind == Kind::Folder { remove_all(&inside)? } else { remove(&inside)? }
    }
    remove_folder(path)
}

/// Removes an empty folder.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    faults::before()?;
    fs::remove_dir(path)
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    faults::before()?;
    fs::rename(from, to)
}

/// Gives a file a second name, if the file system can.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    faults::before()?;
    fs::hard_link(from, to)
}

/// Exchanges two folders in one step. Returns false, and changes nothing, if the system cannot.
pub fn exchange(a: &Path, b: &Path) -> io::Result<bool> {
    faults::before()?;
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(true),
            Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(false)
}

/// Flushes to the disk which files were made, renamed and removed in a folder. On a file system without this it succeeds.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    faults::before()?;
    #[cfg(unix)]
    if let Err(e) = File::open(folder)?.sync_all()
        && ![io::ErrorKind::InvalidInput, io::ErrorKind::Unsupported].contains(&e.kind())
    {
        return Err(e);
    }
    Ok(())
}

/// Returns the folder above a path, also above `.`.
pub fn above(path: &Path) -> PathBuf {
    if path.file_name().is_some() { parent(path).to_owned() } else { path.join("..") }
}

pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a file that is not there yet, in a folder that is being staged.
pub fn create(path: &Path) -> io::Result<File> {
    opened(path, true, OpenOptions::new().write(true).create_new(true))
}

pub fn append(file: &File, content: &[u8]) -> io::Result<()> {
    faults::write(file, content)
}

pub fn sync(file: &File) -> io::Result<()> {
    faults::before()?;
    file.sync_all()
}

pub fn host() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
