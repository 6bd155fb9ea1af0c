//! What is a binary file? Names the media type by the first bytes, else by the name's ending.

/// The type of bytes that nothing is known about.
pub(crate) const UNKNOWN: &str = "application/octet-stream";

const BY_MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1A\n", "image/png"),
    (0, b"\xFF\xD8\xFF", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\x01\0", "image/x-icon"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1F\x8B", "application/gzip"),
    (0, b"\x28\xB5\x2F\xFD", "application/zstd"),
    (0, b"\xFD7zXZ\0", "application/x-xz"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"7z\xBC\xAF\x27\x1C", "application/x-7z-compressed"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\0asm", "application/wasm"),
    (0, b"\x7FELF", "application/x-executable"),
    (0, b"MZ", "application/vnd.microsoft.portable-executable"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (8, b"WAVE", "audio/wav"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1A\x45\xDF\xA3", "video/webm"),
    (0, b"wOF2", "font/woff2"),
    (0, b"\0\x01\0\0\0", "font/ttf"),
];

const BY_ENDING: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("bin", UNKNOWN),
    ("class", "application/java-vm"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("jar", "application/java-archive"),
    ("mp3", "audio/mpeg"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("tar", "application/x-tar"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
];

/// The media type of a file with this name that begins with `head`.
pub(crate) fn media_type(name: &str, head: &[u8]) -> &'static str {
    let by_ending = || {
        let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
        BY_ENDING.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind)
    };
    let magic = BY_MAGIC.iter().find(|(at, magic, _)| head.get(*at..).is_some_and(|head| head.starts_with(magic)));
    match magic {
        // Office documents and archives of classes are ZIP files; their ending says more.
        Some((_, _, "application/zip")) => by_ending().unwrap_or("application/zip"),
        Some((_, _, kind)) => kind,
        None => by_ending().unwrap_or(UNKNOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_media_types() {
        let check = |name, head: &[u8], expect| assert_eq!(media_type(name, head), expect);
        check("a", b"\x89PNG\r\n\x1A\n....", "image/png");
        check("a.png", b"\xFF\xD8\xFF", "image/jpeg");
        check("a.docx", b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document");
        check("a.zip", b"PK\x03\x04", "application/zip");
        check("a.XLSX", b"", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet");
        check("a", b"\0\0", UNKNOWN);
    }
}
