package plainfs

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/export"
	"culvert/manifest"
)

// maxManifests bounds the manifests that are kept, in bytes as they are stored. A larger one is kept alone. Package
// manifest bounds each of them.
const maxManifests = 8 << 20

// tables are the tables in parts of a directory that has the manifest of an export.
type tables struct {
	export *export.Directory
	info   fs.FileInfo // of the manifest
}

// inParts returns the tables in parts of a directory, or nil if it has none. The error says why that cannot be told.
func (f *FS) inParts(dir string) (*tables, error) {
	name := path.Join(dir, manifest.EncryptedName)
	info, err := fs.Lstat(f.source, name)
	switch {
	case err != nil && isOfFile(err):
		return nil, nil
	case err != nil:
		return nil, withoutPath(err)
	}
	if info.Size() > maxManifests {
		f.reading.Lock() // several at once would take too much memory
		defer f.reading.Unlock()
	}
	version := fileVersion{name, versionOf(info)}
	if known, ok := f.manifests.Get(version); ok && version.version != nil {
		return known, nil
	}
	found, err := f.readManifest(dir, info)
	if err == nil && version.version != nil {
		f.manifests.Put(version, found, min(info.Size(), maxManifests))
	}
	return found, err
}

func (f *FS) readManifest(dir string, info fs.FileInfo) (*tables, error) {
	files, err := fs.Sub(f.source, dir)
	if err != nil {
		return nil, err
	}
	config := export.ReadConfig{Identities: f.identities, Cache: f.cache}
	if version := versionOf(info); version != nil {
		config.Key = fileVersion{dir, version}
	}
	opened, err := config.OpenDirectory(context.Background(), files)
	if _, another := errors.AsType[*age.NoIdentityMatchError](err); another || isOfFile(err) ||
		errors.Is(err, export.ErrDamaged) || errors.Is(err, manifest.ErrInvalid) || errors.Is(err, agefile.ErrCorrupt) {
		return nil, nil
	}
	if err != nil {
		return nil, withoutPath(err)
	}
	if !opened.Manifest.Encrypted || !opened.Manifest.IsText() || opened.Manifest.Compression == export.Gzip.String() {
		return nil, nil
	}
	return &tables{opened, info}, nil
}

// extension is what the name of a table has in the view, after the name of its directory.
func (t *tables) extension() string { return "." + t.export.Manifest.Format }

// byDirectory returns the table whose parts are in a directory; or nil, also for no tables.
func (t *tables) byDirectory(name string) *manifest.Table {
	if t == nil {
		return nil
	}
	if entry := t.export.Table(name); entry != nil && entry.Parted() {
		return entry
	}
	return nil
}

// shownTable is a table in parts that is shown as a file.
type shownTable struct {
	*tables
	entry *manifest.Table
}

// findTable finds the table in parts that is shown under a name which the file system does not have.
func (f *FS) findTable(name string) (shownTable, bool, error) {
	switch path.Ext(name) {
	case ".csv", ".jsonl", ".txt":
	default:
		return shownTable{}, false, nil // so nothing is asked for other names
	}
	t, err := f.inParts(path.Dir(name))
	if t == nil || err != nil {
		return shownTable{}, false, err
	}
	base, is := strings.CutSuffix(path.Base(name), t.extension())
	entry := t.byDirectory(base)
	return shownTable{t, entry}, is && entry != nil, nil
}

// describe is the info of the table as a file.
func (t shownTable) describe(name string) fs.FileInfo {
	return plainInfo(name, t.info, t.entry.TextBytes)
}

// openTable opens a table in parts as a file.
func (f *FS) openTable(name string, t shownTable) (fs.File, error) {
	stored, err := f.source.Open(path.Join(path.Dir(name), manifest.EncryptedName))
	if err != nil {
		return nil, withoutPath(err)
	}
	text, err := t.export.ReaderAt(t.entry)
	if err != nil {
		return nil, errors.Join(withoutPath(err), stored.Close())
	}
	return &file{
		content: &content{
			fs: f, source: &tableSource{stored, text}, info: t.info,
			shape: shape{decompressed, t.entry.TextBytes}, text: text,
		},
		name: name,
	}, nil
}

// tableSource is the manifest of a table, and closes the table with it.
type tableSource struct {
	fs.File
	text *export.TableReaderAt
}

func (s *tableSource) Close() error { return errors.Join(s.text.Close(), s.File.Close()) }

// shownAsTable returns the entry of the view for a directory, given the tables in parts beside it.
func (f *FS) shownAsTable(dir string, entry fs.DirEntry, beside *tables) fs.DirEntry {
	t := beside.byDirectory(entry.Name())
	if t == nil {
		return entry
	}
	plain := path.Join(dir, entry.Name()) + beside.extension()
	if _, err := fs.Lstat(f.source, plain); !errors.Is(err, fs.ErrNotExist) {
		return entry
	}
	if _, ok, err := f.find(plain); ok || err != nil {
		return entry
	}
	return fs.FileInfoToDirEntry(shownTable{beside, t}.describe(plain))
}
