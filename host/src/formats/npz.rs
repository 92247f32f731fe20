//! NumPy's `.npz`: a ZIP archive of `.npy` arrays, plain or compressed.

use super::Array;
use super::error::{names, one_of};
use crate::error::{Error, InFile as _, Problem};
use crate::files::limits::{ARRAYS, TABLE};
use crate::files::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The largest compression factor of Deflate.
const MAX_COMPRESSION: u64 = 1032;

/// An archive of any size may hold this many numbers, 8 MiB of doubles; a larger one at most [`NUMBERS_PER_BYTE`] for each
/// byte, compressed or not.
const FEW_NUMBERS: u64 = 1 << 20;
const NUMBERS_PER_BYTE: u64 = 4;

/// An open `.npz` file, whose arrays are read one by one.
#[derive(Debug)]
pub struct Npz<R> {
    pub file: PathBuf,
    archive: ZipArchive<R>,
    numbers_left: u64,
}

impl Npz<BufReader<File>> {
    pub fn open(file: &Path) -> Result<Self, Error> {
        Self::new(file, BufReader::new(files::open(file, files::STREAM).in_file(file)?))
    }
}

impl<R: Read + Seek> Npz<R> {
    /// Reads from a source; `file` is for messages.
    pub fn new(file: &Path, mut reader: R) -> Result<Self, Error> {
        let open = || {
            let bytes = reader.seek(SeekFrom::End(0))?;
            let mut archive = ZipArchive::new(reader)?;
            // A name or a size that differs between an array and the directory is damage.
            archive.validate_header_consistency()?;
            Ok((bytes, archive))
        };
        let (bytes, archive) = open().map_err(zip_problem).in_file(file)?;
        if archive.len() > ARRAYS {
            let reason = format!("{} arrays: expected at most {ARRAYS}", archive.len());
            return Err(malformed(reason).in_file(file));
        }
        let numbers_left = FEW_NUMBERS.max(NUMBERS_PER_BYTE.saturating_mul(bytes.min(TABLE)));
        Ok(Npz { file: file.to_owned(), archive, numbers_left })
    }

    pub fn names(&self) -> Vec<String> {
        let name = |raw: &[u8]| String::from_utf8_lossy(raw).trim_end_matches(".npy").to_owned();
        self.archive.file_names_raw().map(name).collect()
    }

    pub fn refuse_unknown(&self, known: &[&str]) -> Result<(), Error> {
        let Some(unknown) = self.names().into_iter().find(|name| !known.contains(&&**name)) else {
            return Ok(());
        };
        Err(Problem::array(&unknown, "unknown", one_of(&unknown, known)).in_file(&self.file))
    }

    pub fn array(&mut self, name: &str) -> Result<Array, Error> {
        match self.optional_array(name)? {
            Some(array) => Ok(array),
            None => Err(missing(name, &self.names()).in_file(&self.file)),
        }
    }

    pub fn optional_array(&mut self, name: &str) -> Result<Option<Array>, Error> {
        self.read(name).in_file(&self.file)
    }

    fn read(&mut self, name: &str) -> Result<Option<Array>, Problem> {
        let mut entry = match self.archive.by_name(&format!("{name}.npy")) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(zip_problem(error)),
        };
        let size = entry.size();
        let what = || format!("array `{name}`");
        // Inflated bytes count, too: a number has at most eight bytes, and its header a few.
        let limit = TABLE.min(8 * self.numbers_left + (1 << 16));
        if size > limit {
            let reason = format!("{} needs {size} bytes: expected at most {limit}", what());
            return Err(Problem::Unusable(reason));
        }
        if size / MAX_COMPRESSION > entry.compressed_size() {
            return Err(malformed(format!("{} claims {size} bytes, which cannot be", what())));
        }
        // The buffer grows with the bytes present, not with the claimed size; one byte more is requested, so that the end, and
        // with it the checksum, is reached.
        files::room(2 * size)?;
        let mut bytes = Vec::new();
        (&mut entry)
            .take(size + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| malformed(format!("{}: {error}", what())))?;
        if bytes.len() as u64 != size {
            return Err(malformed(format!("{} is not of the {size} bytes it claims", what())));
        }
        // A number may have one byte in the file, and takes eight in memory.
        let array = Array::parse(name, &bytes, self.numbers_left)?;
        let numbers = array.shape.iter().product::<usize>() as u64;
        files::room(32 * numbers)?;
        self.numbers_left -= numbers;
        Ok(Some(array))
    }
}

/// Returns arrays as an uncompressed file, like `numpy.savez`. Equal arrays give equal bytes.
pub fn to_bytes(arrays: &[(&str, &Array)]) -> io::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // The date is fixed (1980), so that equal arrays give equal bytes.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(zip::DateTime::default())
        .unix_permissions(0o600);
    for (name, array) in arrays {
        archive.start_file(format!("{name}.npy"), options)?;
        array.write(&mut archive)?;
    }
    Ok(archive.finish()?.into_inner())
}

pub(super) fn missing(array: &str, present: &[String]) -> Problem {
    Problem::Unusable(format!("array `{array}` is missing: the file holds {}", names(present)))
}

fn zip_problem(error: ZipError) -> Problem {
    match error {
        ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => Problem::Io(error),
        error => malformed(error),
    }
}

fn malformed(reason: impl std::fmt::Display) -> Problem {
    Problem::malformed(".npz", reason)
}
