package client_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// counted serves a directory and counts the calls that have ended by their methods: one may end after its answer.
func counted(t *testing.T, dir string) (client *client.Client, calls func(method string) int) {
	var mu sync.Mutex
	counts := map[string]int{}
	client = filetest.Serve(t, dir, func(c *server.Config) {
		c.Observer.Called = func(call server.Call) {
			mu.Lock()
			defer mu.Unlock()
			counts[call.Method]++
		}
	})
	return client, func(method string) int {
		mu.Lock()
		defer mu.Unlock()
		return counts[method]
	}
}

func TestOpenGivesContent(t *testing.T) {
	const most = 64 << 10
	sizes := map[string]int{"empty": 0, "one": 1, "most": most, "more": most + 1}
	dir, _ := filetest.Tree(t, sizes)
	client, calls := counted(t, dir)
	for name, size := range sizes {
		opened, err := client.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		before := calls("Get")
		got, err := io.ReadAll(io.NewSectionReader(opened.(io.ReaderAt), 0, int64(size)+10))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: ReadAt gives %d bytes, %v", name, len(got), err)
		}
		if got, err = io.ReadAll(struct{ io.Reader }{opened}); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: Read gives %d bytes, %v", name, len(got), err)
		}
		var written bytes.Buffer
		if _, err := opened.(io.Seeker).Seek(int64(size/2), io.SeekStart); err != nil {
			t.Error(err)
		}
		_, err = opened.(io.WriterTo).WriteTo(&written)
		if err != nil || !bytes.Equal(written.Bytes(), want[size/2:]) {
			t.Errorf("%s: WriteTo gives %d bytes, %v", name, written.Len(), err)
		}
		if size > most {
			testkit.WaitFor(t, "a get to end", func() bool { return calls("Get") > before })
		} else if reads := calls("Get") - before; reads > 0 {
			t.Errorf("%s: %d reads", name, reads)
		}
		// What came with the opening is of one version, whatever becomes of the file.
		if err := os.WriteFile(filepath.Join(dir, name), []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 1)
		switch _, err := opened.(io.ReaderAt).ReadAt(p, 0); {
		case size == 0 && err == io.EOF, size > most && errors.Is(err, fileservice.ErrChanged):
		case size == 0 || size > most || err != nil || p[0] != want[0]:
			t.Errorf("%s: after a change %q, %v", name, p, err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
		if _, err := opened.(io.ReaderAt).ReadAt(p, 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
	if n := calls("Stat"); n != 0 {
		t.Errorf("%d calls of Stat", n)
	}
}

// TestOpenHoldsLittle opens more small files than may be held, of which the last ones are read when they are read.
func TestOpenHoldsLittle(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 64 << 10})
	client, calls := counted(t, dir)
	var files []fs.File
	for range 300 {
		file, err := client.Open("file")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		if _, err := file.(io.ReaderAt).ReadAt(make([]byte, 100), 64<<10-100); err != nil {
			t.Error(err)
		}
	}
	const read = 300 + 300 - 256
	testkit.WaitFor(t, "the last get to end", func() bool { return calls("Get") >= read })
	if got := calls("Get"); got != read {
		t.Errorf("%d gets for 300 files, want a second one for those beyond 16 MiB", got)
	}
	for _, file := range files {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := client.ReadFile("file"); err != nil || calls("Get") > read+1 {
		t.Errorf("no room after they were closed: %v", err)
	}
}

func TestOpenOfWhatCannotBeRead(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	client := filetest.Serve(t, dir, nil)
	for name, want := range map[string]error{"none": fs.ErrNotExist, "file/x": syscall.ENOTDIR, "../x": fs.ErrInvalid} {
		_, err := client.Open(name)
		var pathError *fs.PathError
		if !errors.Is(err, want) || !errors.As(err, &pathError) || pathError.Op != "open" || pathError.Path != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if os.Getuid() == 0 {
		return // who may read everything
	}
	if err := os.Chmod(filepath.Join(dir, "file"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Open("file"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without permission: %v", err)
	}
}

// TestOpenOfChanging opens a small file that is replaced all the time: what comes is all of one of them.
func TestOpenOfChanging(t *testing.T) {
	dir := t.TempDir()
	write := func(i int) error {
		content := bytes.Repeat([]byte{byte('a' + i%26)}, 1+i%50000)
		next := filepath.Join(dir, "next")
		return errors.Join(os.WriteFile(next, content, 0o644), os.Rename(next, filepath.Join(dir, "file")))
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	client := filetest.Serve(t, dir, nil)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := write(i * 977); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 500 {
		content, err := client.ReadFile("file")
		if errors.Is(err, fileservice.ErrChanged) {
			continue
		}
		if err != nil || len(content) == 0 || bytes.Count(content, content[:1]) != len(content) {
			t.Errorf("%d bytes, %v", len(content), err)
		}
	}
	close(stop)
	writing.Wait()
}

// TestBuffersOfBrokenOpens breaks connections while small contents are on their way, and has their buffers again.
func TestBuffersOfBrokenOpens(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 60 << 10})
	address := filetest.Listen(t, dir, func(c *server.Config) { c.MaxBuffers = 8 })
	for i := range 40 {
		client := filetest.Ail(t, address, nil, 1, 0, int64(100<<10+i*7919), filetest.TransferFaults()["cut"])
		var calls sync.WaitGroup
		for range 16 {
			calls.Go(func() {
				if _, err := client.ReadFile("file"); err != nil && !errors.Is(err, fileservice.ErrUnreachable) {
					t.Errorf("of a connection that broke: %v", err)
				}
			})
		}
		calls.Wait()
	}
	if _, err := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)}).ReadFile("file"); err != nil {
		t.Error(err)
	}
}

func TestOpenAnswersThatLie(t *testing.T) {
	link := filetest.Entry("file", 0)
	link.Mode = 0o120777
	type answer struct {
		entry *fileservicepb.Entry
		data  []byte
	}
	for what, a := range map[string]answer{
		"nothing":      {},
		"a part":       {filetest.Entry("file", 5), []byte("hell")},
		"more":         {filetest.Entry("file", 5), []byte("hello!")},
		"much more":    {filetest.Entry("file", 64<<10+1), make([]byte, 64<<10+1)},
		"other name":   {filetest.Entry("other", 5), []byte("hello")},
		"of a link":    {link, []byte("hello")},
		"of nothing":   {filetest.Entry("file", 0), []byte("hello")},
		"a long entry": {filetest.Entry(strings.Repeat("x", 60_000), 5), []byte("hello")},
	} {
		client := filetest.Lie(t, &filetest.Liar{
			OnData: func(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
				return send(r.End(encode(a.entry), a.data))
			},
		})
		_, err := client.Open("file")
		if what == "of a link" && errors.Is(err, fs.ErrInvalid) {
			continue
		}
		if !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
	garbage := filetest.Lie(t, &filetest.Liar{
		OnData: func(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
			return send(r.End([]byte("\x12\x02\xff\xff"), nil))
		},
	})
	if _, err := garbage.Open("file"); !errors.Is(err, fileservice.ErrIntegrity) {
		t.Errorf("an entry of garbage: %v", err)
	}
	// Without content it is asked for when it is read.
	client := filetest.Lie(t, fileOf(5, func(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
		return send(r.End(nil, []byte("hello")))
	}))
	if content, err := client.ReadFile("file"); err != nil || string(content) != "hello" {
		t.Errorf("%q, %v", content, err)
	}
}

// encode encodes the head of an answer.
func encode(m proto.Message) []byte {
	head, err := proto.Marshal(m)
	filetest.Must(err)
	return head
}

// fileOf is a server with a file without content in its entry, that answers reads as told.
func fileOf(size int64, read filetest.SendData) *filetest.Liar {
	return &filetest.Liar{
		OnData: func(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
			if r.Flags&filetest.FlagAny != 0 {
				return send(r.End(encode(filetest.Entry("file", size)), nil))
			}
			return read(r, send)
		},
	}
}

// zeros answers a read.
func zeros(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
	return send(r.End(nil, make([]byte, r.Length)))
}

func TestReadLink(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5})
	targets := map[string]string{
		"inside": "file", "outside": "/etc/passwd", "up": "../../x", "long": strings.Repeat("x/", 2000) + "x", "ü": "ü",
	}
	for name, target := range targets {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	client := filetest.Serve(t, dir, nil)
	for name, want := range targets {
		if got, err := fs.ReadLink(client, name); err != nil || got != want {
			t.Errorf("%s leads to %q, %v", name, got, err)
		}
		info, err := fs.Lstat(client, name)
		if err != nil || info.Mode().Type() != fs.ModeSymlink || info.Size() != int64(len(want)) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := os.Symlink("a\x1b[2Jb", filepath.Join(dir, "steers")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"steers": fileservice.ErrRefused, "file": fs.ErrInvalid, "none": fs.ErrNotExist,
	} {
		if target, err := client.ReadLink(name); !errors.Is(err, want) {
			t.Errorf("%s leads to %q, %v", name, target, err)
		}
	}
	for _, target := range []string{"", "a\x00b", "a\nb", "\x1b[2J", "a\u202eb", strings.Repeat("x", 4097)} {
		client := filetest.Lie(t, &filetest.Liar{OnLink: func() string { return target }})
		if got, err := client.ReadLink("link"); !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%.20q, %v", got, err)
		}
	}
}

func TestInode(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5, "other": 5})
	if err := os.Link(filepath.Join(dir, "file"), filepath.Join(dir, "twin")); err != nil {
		t.Skip(err)
	}
	inodes := map[string]uint64{}
	for info, err := range filetest.Serve(t, dir, nil).List(t.Context(), ".") {
		if err != nil {
			t.Fatal(err)
		}
		inodes[info.Name()] = info.Inode()
	}
	if inodes["file"] == 0 || inodes["file"] != inodes["twin"] || inodes["file"] == inodes["other"] {
		t.Error(inodes)
	}
}

func TestSpace(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"sub/file": 5})
	client := filetest.Serve(t, dir, nil)
	for _, name := range []string{".", "sub", "sub/file"} {
		total, free, available, err := client.Space(name)
		if err != nil || total == 0 || free > total || available > free {
			t.Errorf("%s: %d, %d, %d, %v", name, total, free, available, err)
		}
	}
	if _, _, _, err := client.Space("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	liar := filetest.Lie(t, &filetest.Liar{OnSpace: func() *fileservicepb.SpaceResponse {
		return &fileservicepb.SpaceResponse{Total: 1, Free: 2, Available: 3}
	}})
	if _, _, _, err := liar.Space("."); !errors.Is(err, fileservice.ErrIntegrity) {
		t.Error(err)
	}
}
