// Package plainfs shows encrypted files of a file system as what they hold.
//
// [New] lays a view over an [io/fs.FS]. In it, what `culvert export` writes has the name, the size and the bytes of its
// text, and any part of it can be read without the parts before:
//
//	the file system                         the view
//	orders.csv.zst.age     ──────────▶      orders.csv         decrypted and decompressed
//	report.pdf.age         ──────────▶      report.pdf         decrypted
//	dump.sql.gz.age        ──────────▶      dump.sql.gz        decrypted; gzip cannot be read from the middle
//	notes.txt              ──────────▶      notes.txt          as it is
//	theirs.csv.zst.age     ──────────▶      theirs.csv.zst.age as it is: no identity opens it
//	mail.txt.age           ──────────▶      mail.txt.age       as it is, if it is armored (PEM)
//	cut.pdf.age            ──────────▶      cut.pdf.age        as it is: its end is missing
//	orders/, in parts      ──────────▶      orders.csv         the text of all parts, with one header
//
// A table that was exported in parts is the directory of its parts. It is shown as a file if the encrypted manifest of
// the export is beside it and an identity opens that. The parts must not be compressed with gzip.
//
// # Names
//
// A regular file is decrypted if its name ends in .age, one of the identities opens it, and its last chunk is
// authentic, which proves its size; it is then shown without that end. It is also decompressed, and shown without
// .zst.age, if it ends with a seek table of frames that are not too large. Others are shown as they are. So are
// directories, symbolic links, and all that has no end to take away.
//
// A name that the file system has stands for what is there: it is never covered, and can always be opened, also where
// the listing has another name in its place. So a symbolic link leads to the encrypted file, as it does there. If
// orders.csv is there, orders.csv.zst.age is listed under its own name. If there is none, but both orders.csv.zst.age
// and orders.csv.age, then orders.csv is the first of them. Nothing is hidden: each file is listed under one of its two
// names.
//
// # Versions
//
// A file of the view has the times and permissions of the encrypted file, and the same value of Sys if that is
// comparable and no pointer. Such a value names a version of the file: what was found out about one is kept, and served
// for as long as the file is of that version. Without one nothing is kept from one call to the next, and Sys is nil. A
// file that is open is of the version that it was opened with, as far as the file system keeps to that; whatever comes,
// no bytes are given out that are not authentic parts of one encrypted file.
//
// # Errors
//
// A chunk that is not authentic makes a read fail with an error that wraps [culvert/agefile.ErrCorrupt], a frame that
// does not decode with one that wraps [culvert/internal/compress.ErrCorrupt]. What comes before the place may have been
// read. Errors of the file system come as they are, in an [io/fs.PathError].
//
// # Memory
//
// Files are read with [culvert/export.ReaderAt]. All memory that grows with use is bounded for a view as a whole,
// whatever the number and size of the files: the [culvert/export.Cache], with frames in Config.Memory, and what was
// found out about 16,384 files, about 5 MiB, and manifests of 8 MiB, as they are stored, or a larger one alone. A file
// that can only be read from its beginning is shown as its .zst.
package plainfs
