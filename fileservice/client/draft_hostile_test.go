package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

// draftLiar is a server that answers calls about drafts as a test wants it to.
type draftLiar struct {
	*filetest.Liar
	opened  *fileservicepb.OpenDraftResponse
	write   func(*filetest.DataMessage) *filetest.DataMessage
	read    []byte
	publish *fileservicepb.Entry
}

func (l *draftLiar) OpenDraft(
	context.Context, *fileservicepb.OpenDraftRequest,
) (*fileservicepb.OpenDraftResponse, error) {
	return l.opened, nil
}

func (l *draftLiar) PublishDraft(context.Context, *fileservicepb.PublishDraftRequest) (*fileservicepb.Entry, error) {
	return l.publish, nil
}

func (l *draftLiar) DropDraft(
	context.Context, *fileservicepb.DropDraftRequest,
) (*fileservicepb.DropDraftResponse, error) {
	return &fileservicepb.DropDraftResponse{}, nil
}

func honestDraft() *draftLiar {
	l := &draftLiar{
		opened: &fileservicepb.OpenDraftResponse{
			Draft: make([]byte, 16), Entry: filetest.Entry("file", 0), IdleMilliseconds: 60_000, IsDraft: true,
		},
		write:   func(r *filetest.DataMessage) *filetest.DataMessage { return r.End(nil, nil) },
		read:    []byte("hello"),
		publish: filetest.Entry("file", 5),
	}
	l.Liar = &filetest.Liar{OnData: func(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
		if r.Kind == byte(exchange.PutDraft) {
			return send(l.write(r))
		}
		return send(r.End(nil, l.read))
	}}
	return l
}

func TestDraftAnswersThatLie(t *testing.T) {
	directory := filetest.Entry("file", 0)
	directory.Mode = uint32(os.ModeDir | 0o755)
	for what, change := range map[string]func(*draftLiar){
		"no draft":        func(l *draftLiar) { l.opened.Draft = nil },
		"a long draft":    func(l *draftLiar) { l.opened.Draft = make([]byte, 17) },
		"another name":    func(l *draftLiar) { l.opened.Entry = filetest.Entry("other", 0) },
		"a directory":     func(l *draftLiar) { l.opened.Entry = directory },
		"a negative size": func(l *draftLiar) { l.opened.Entry = filetest.Entry("file", -1) },
		"no time":         func(l *draftLiar) { l.opened.IdleMilliseconds = 0 },
		"much time":       func(l *draftLiar) { l.opened.IdleMilliseconds = math.MaxInt64 },
		"data for a write": func(l *draftLiar) {
			l.write = func(r *filetest.DataMessage) *filetest.DataMessage { return r.End(nil, []byte("x")) }
		},
		"another's answer": func(l *draftLiar) {
			l.write = func(r *filetest.DataMessage) *filetest.DataMessage {
				return (&filetest.DataMessage{ID: r.ID + 1}).End(nil, nil)
			}
		},
		"a good error": func(l *draftLiar) {
			l.write = func(r *filetest.DataMessage) *filetest.DataMessage { return r.Fail(codes.OK, "") }
		},
		"less read":             func(l *draftLiar) { l.read = []byte("hell") },
		"more read":             func(l *draftLiar) { l.read = []byte("hello!") },
		"nothing read":          func(l *draftLiar) { l.read = nil },
		"other published":       func(l *draftLiar) { l.publish = filetest.Entry("other", 5) },
		"less published":        func(l *draftLiar) { l.publish = filetest.Entry("file", 4) },
		"a directory published": func(l *draftLiar) { l.publish = directory },
		"all is well":           func(*draftLiar) {},
	} {
		l := honestDraft()
		change(l)
		err := func() error {
			file, err := filetest.Lie(t, l).OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				return err
			}
			w := file.(*client.WritableFile)
			_, err = w.Write([]byte("hello"))
			got := make([]byte, 5)
			_, readErr := w.ReadAt(got, 0)
			return errors.Join(err, readErr, filetest.Publish(w, "file"))
		}()
		if (err == nil) != (what == "all is well") || err != nil && !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// stranger has a draft on a server that is writable, and clients that say what they like.
func stranger(t *testing.T, dir string) (fileservicepb.FileServiceClient, *exchange.Conn, []byte) {
	t.Helper()
	address := filetest.Listen(t, dir, filetest.Writable)
	client := filetest.Raw(t, address)
	response, err := client.OpenDraft(t.Context(), &fileservicepb.OpenDraftRequest{Path: "file", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return client, filetest.RawData(t, address), response.GetDraft()
}

// writeDraft sends data for a draft, with an offset.
func writeDraft(conn *exchange.Conn, draft []byte, offset int64, data []byte) error {
	_, err := filetest.Ask(conn, exchange.Request{Kind: exchange.PutDraft, Target: string(draft), Offset: offset}, data)
	return err
}

func TestWritesThatAreNoDraft(t *testing.T) {
	dir := t.TempDir()
	client, conn, draft := stranger(t, dir)
	other := bytes.Clone(draft)
	other[3] ^= 1
	for what, c := range map[string]struct {
		draft  []byte
		offset int64
	}{
		"no draft":              {nil, 0},
		"a short draft":         {draft[:15], 0},
		"another draft":         {other, 0},
		"a negative offset":     {draft, -1},
		"an offset without end": {draft, math.MaxInt64},
		"beyond the end":        {draft, math.MaxInt64 - 1<<20},
	} {
		if err := writeDraft(conn, c.draft, c.offset, []byte("x")); err == nil || errors.Is(err, exchange.ErrEnded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// None of it harms the draft.
	if err := writeDraft(conn, draft, 0, []byte("hello")); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]*fileservicepb.ChangeDraftRequest{
		"a negative size":     {Draft: draft, Size: new(int64(-1))},
		"a size without end":  {Draft: draft, Size: new(int64(math.MaxInt64))},
		"the size of another": {Draft: other, Size: new(int64(0))},
	} {
		if _, err := client.ChangeDraft(t.Context(), change); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	for what, r := range map[string]exchange.Request{
		"before it":  {Target: string(draft), Offset: -1, Length: 1},
		"of another": {Target: string(other), Length: 1},
		"of none":    {Length: 1},
	} {
		r.Kind = exchange.GetDraft
		if _, err := filetest.Ask(conn, r, nil); err == nil || errors.Is(err, exchange.ErrEnded) {
			t.Errorf("a read %s: %v", what, err)
		}
	}
	ctx := t.Context()
	_, syncErr := client.SyncDraft(ctx, &fileservicepb.SyncDraftRequest{Draft: other})
	_, publishErr := client.PublishDraft(ctx, &fileservicepb.PublishDraftRequest{Draft: other, Path: "x"})
	_, dropErr := client.DropDraft(ctx, &fileservicepb.DropDraftRequest{Draft: other})
	_, keepErr := client.ChangeDraft(ctx, &fileservicepb.ChangeDraftRequest{Draft: other})
	for _, err := range []error{syncErr, publishErr, dropErr, keepErr} {
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("the draft of another: %v", err)
		}
	}
	for _, path := range []string{"", "../x", "/x", "a\x00", ".", "x.culvert.draft", strings.Repeat("x", 256)} {
		_, err := client.PublishDraft(ctx, &fileservicepb.PublishDraftRequest{Draft: draft, Path: path, Replace: true})
		if err == nil {
			t.Errorf("it is published as %q", path)
		}
	}
	publish := &fileservicepb.PublishDraftRequest{Draft: draft, Path: "file"}
	if _, err := client.PublishDraft(ctx, publish); err != nil {
		t.Error(err)
	}
	if _, err := client.DropDraft(ctx, &fileservicepb.DropDraftRequest{Draft: draft}); err != nil {
		t.Error(err)
	}
	if _, err := client.PublishDraft(ctx, publish); err == nil {
		t.Error("a draft that has ended was published")
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": []byte("hello")})
}

// TestDraftsOfReader asks a server that is not writable.
func TestDraftsOfReader(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5})
	address := filetest.Listen(t, dir, nil)
	client := filetest.Raw(t, address)
	draft := make([]byte, 16)
	ctx := t.Context()
	_, openErr := client.OpenDraft(ctx, &fileservicepb.OpenDraftRequest{Path: "file"})
	_, changeErr := client.ChangeDraft(ctx, &fileservicepb.ChangeDraftRequest{Draft: draft})
	_, publishErr := client.PublishDraft(ctx, &fileservicepb.PublishDraftRequest{Draft: draft, Path: "file"})
	if err := writeDraft(filetest.RawData(t, address), draft, 0, []byte("x")); !errors.Is(err, fileservice.ErrRefused) {
		t.Error(err)
	}
	for _, err := range []error{openErr, changeErr, publishErr} {
		if status.Code(err) != codes.FailedPrecondition {
			t.Error(err)
		}
	}
}

// TestTooManyDrafts opens more than one connection may have. Others can still open some, and when the client is gone
// nothing of it is left.
func TestTooManyDrafts(t *testing.T) {
	dir := t.TempDir()
	address := filetest.Listen(t, dir, filetest.Writable)
	remote := filetest.Raw(t, address)
	var drafts [][]byte
	for i := 0; ; i++ {
		response, err := remote.OpenDraft(t.Context(), &fileservicepb.OpenDraftRequest{
			Path: fmt.Sprint("file", i), Create: true,
		})
		if status.Code(err) == codes.FailedPrecondition {
			break
		}
		if err != nil || i > 256 {
			t.Fatal(i, err)
		}
		drafts = append(drafts, response.GetDraft())
	}
	another := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	other := filetest.OpenDraft(t, another, "file", os.O_CREATE|os.O_RDWR)
	if err := filetest.Publish(other, "file"); err != nil {
		t.Errorf("another client: %v", err)
	}
	for _, draft := range drafts {
		if _, err := remote.DropDraft(t.Context(), &fileservicepb.DropDraftRequest{Draft: draft}); err != nil {
			t.Fatal(err)
		}
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": nil})
	if _, err := remote.OpenDraft(t.Context(), &fileservicepb.OpenDraftRequest{Path: "file"}); err != nil {
		t.Errorf("after all have ended: %v", err)
	}
}

// TestTooManyFilesToWrite tells a program that opens too many just that.
func TestTooManyFilesToWrite(t *testing.T) {
	remote := filetest.Serve(t, t.TempDir(), filetest.Writable)
	for i := 0; ; i++ {
		file, err := remote.OpenFile(fmt.Sprint("file", i), os.O_CREATE|os.O_RDWR, 0o644)
		if err == nil && i <= 512 {
			t.Cleanup(func() { filetest.Discard(t, file.(*client.WritableFile)) })
			continue
		}
		if !errors.Is(err, fileservice.ErrRefused) || !errors.Is(err, syscall.ENFILE) {
			t.Errorf("file %d: %v", i, err)
		}
		return
	}
}

// TestDraftThatIsExchanged has somebody on the server put another file in the place of a draft, which does not get the
// name of the file, and a file that is open replaced or changed.
func TestDraftThatIsExchanged(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5})
	client := filetest.Serve(t, dir, filetest.Writable)
	file := filetest.OpenDraft(t, client, "new", os.O_CREATE|os.O_RDWR)
	names, err := filepath.Glob(filepath.Join(dir, "new.*.culvert.draft"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := errors.Join(os.Remove(names[0]), os.WriteFile(names[0], []byte("theirs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := filetest.Publish(file, "new"); err == nil {
		t.Error("another file was published")
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
		t.Error("another file has the name")
	}
}

// TestOthersChangeWhatIsInPlace has somebody else write a file that is open, or take its name. The client is told, and
// what was written elsewhere stays.
func TestOthersChangeWhatIsInPlace(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5})
	path := filepath.Join(dir, "file")
	remote := filetest.Serve(t, dir, filetest.Writable)
	for what, theirs := range map[string]func() error{
		"written": func() error { return os.WriteFile(path, []byte("longer than before"), 0o644) },
		"replaced": func() error {
			return errors.Join(os.WriteFile(path+".new", []byte("theirs"), 0o644), os.Rename(path+".new", path))
		},
	} {
		for name, call := range map[string]func(*client.WritableFile) error{
			"Sync":  (*client.WritableFile).Sync,
			"Flush": (*client.WritableFile).Flush,
		} {
			if what == "replaced" && name == "Flush" {
				continue // others see what was written, who have the file open
			}
			file := filetest.OpenDraft(t, remote, "file", os.O_RDWR)
			if _, err := file.WriteAt([]byte("ours"), 0); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(file.Sync(), theirs()); err != nil {
				t.Fatal(err)
			}
			want := filetest.ContentOf(t, dir, "file")
			_, err := file.WriteAt([]byte("x"), 0)
			if err = errors.Join(err, call(file)); !errors.Is(err, fileservice.ErrChanged) {
				t.Errorf("%s, then %s: %v", what, name, err)
			}
			if _, err := file.WriteAt([]byte("x"), 0); !errors.Is(err, fileservice.ErrChanged) {
				t.Errorf("%s, then written: %v", what, err)
			}
			if content := filetest.ContentOf(t, dir, "file"); !bytes.Equal(content, want) {
				t.Errorf("%s, and has %q", what, content)
			}
			if err := file.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestOthersShortenWhatIsInPlace reads a file through the client that writes it, when somebody else has shortened it.
func TestOthersShortenWhatIsInPlace(t *testing.T) {
	const size = 3 << 20
	dir, _ := filetest.Tree(t, map[string]int{"file": size})
	remote := filetest.Serve(t, dir, filetest.Writable)
	file := filetest.OpenDraft(t, remote, "file", os.O_RDWR)
	if err := os.Truncate(filepath.Join(dir, "file"), 10); err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{1, 20, size} {
		offset := min(5, int64(size-length))
		_, err := file.ReadAt(make([]byte, length), offset)
		if is := errors.Is(err, fileservice.ErrChanged); is != (length > 1) || !is && err != nil {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// TestDraftsWhileListed opens drafts while others list the directory, and look for drafts that were left there.
func TestDraftsWhileListed(t *testing.T) {
	address := filetest.Listen(t, t.TempDir(), filetest.Writable)
	done := make(chan struct{})
	var listing sync.WaitGroup
	for range 3 {
		lister := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
		listing.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := lister.ReadDir("."); err != nil {
					t.Error(err)
				}
			}
		})
	}
	client := filetest.Raw(t, address)
	for range 500 {
		d, err := client.OpenDraft(t.Context(), &fileservicepb.OpenDraftRequest{Path: "file", Create: true})
		if err != nil {
			t.Error(err)
			break
		}
		if _, err := client.DropDraft(t.Context(), &fileservicepb.DropDraftRequest{Draft: d.GetDraft()}); err != nil {
			t.Error(err)
		}
	}
	close(done)
	listing.Wait()
}
