package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

// draftLiar is a server that answers calls about drafts as a test wants it to.
type draftLiar struct {
	filetest.Liar
	opened  *fileservicepb.OpenDraftResponse
	write   func(received int64) int64
	read    []byte
	publish *fileservicepb.Entry
}

func (l *draftLiar) OpenDraft(
	context.Context, *fileservicepb.OpenDraftRequest,
) (*fileservicepb.OpenDraftResponse, error) {
	return l.opened, nil
}

func (l *draftLiar) WriteDraft(
	stream grpc.ClientStreamingServer[fileservicepb.WriteDraftRequest, fileservicepb.WriteDraftResponse],
) error {
	received := int64(0)
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(&fileservicepb.WriteDraftResponse{Written: l.write(received)})
		}
		if err != nil {
			return err
		}
		received += int64(len(request.GetData()))
	}
}

func (l *draftLiar) ReadDraft(
	_ *fileservicepb.ReadDraftRequest, stream grpc.ServerStreamingServer[fileservicepb.ReadResponse],
) error {
	return stream.Send(&fileservicepb.ReadResponse{Data: l.read})
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
	return &draftLiar{
		opened: &fileservicepb.OpenDraftResponse{
			Draft: make([]byte, 16), Entry: filetest.Entry("file", 0), IdleMilliseconds: 60_000, IsDraft: true,
		},
		write:   func(received int64) int64 { return received },
		read:    []byte("hello"),
		publish: filetest.Entry("file", 5),
	}
}

func TestDraftAnswersThatLie(t *testing.T) {
	directory := filetest.Entry("file", 0)
	directory.Mode = uint32(os.ModeDir | 0o755)
	for what, change := range map[string]func(*draftLiar){
		"no draft":              func(l *draftLiar) { l.opened.Draft = nil },
		"a long draft":          func(l *draftLiar) { l.opened.Draft = make([]byte, 17) },
		"another name":          func(l *draftLiar) { l.opened.Entry = filetest.Entry("other", 0) },
		"a directory":           func(l *draftLiar) { l.opened.Entry = directory },
		"a negative size":       func(l *draftLiar) { l.opened.Entry = filetest.Entry("file", -1) },
		"no time":               func(l *draftLiar) { l.opened.IdleMilliseconds = 0 },
		"much time":             func(l *draftLiar) { l.opened.IdleMilliseconds = math.MaxInt64 },
		"less written":          func(l *draftLiar) { l.write = func(n int64) int64 { return n - 1 } },
		"more written":          func(l *draftLiar) { l.write = func(n int64) int64 { return n + 1 } },
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

// stranger has a draft on a server that is writable, and a client that says what it likes.
func stranger(t *testing.T, dir string) (fileservicepb.FileServiceClient, []byte) {
	t.Helper()
	client := filetest.Raw(t, filetest.Listen(t, dir, filetest.Writable))
	response, err := client.OpenDraft(t.Context(), &fileservicepb.OpenDraftRequest{Path: "file", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return client, response.GetDraft()
}

func writeDraft(
	t *testing.T, client fileservicepb.FileServiceClient, requests ...*fileservicepb.WriteDraftRequest,
) error {
	t.Helper()
	stream, err := client.WriteDraft(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range requests {
		_ = stream.Send(request) // if this fails the answer says why
	}
	_, err = stream.CloseAndRecv()
	return err
}

func TestWritesThatAreNoDraft(t *testing.T) {
	dir := t.TempDir()
	client, draft := stranger(t, dir)
	other := bytes.Clone(draft)
	other[3] ^= 1
	type request = fileservicepb.WriteDraftRequest
	for what, requests := range map[string][]*request{
		"nothing":               {},
		"no draft":              {{Data: []byte("x")}},
		"a short draft":         {{Draft: draft[:15], Data: []byte("x")}},
		"another draft":         {{Draft: other, Data: []byte("x")}},
		"no data":               {{Draft: draft}},
		"a negative offset":     {{Draft: draft, Data: []byte("x"), Offset: -1}},
		"an offset without end": {{Draft: draft, Data: []byte("x"), Offset: math.MaxInt64}},
		"beyond the end":        {{Draft: draft, Data: []byte("x"), Offset: math.MaxInt64 - 1<<20}},
		"a long message":        {{Draft: draft, Data: make([]byte, 256<<10+1)}},
		"a very long message":   {{Draft: draft, Data: make([]byte, 8<<20)}},
		"a message of nothing":  {{Draft: draft, Data: []byte("x")}, {}},
	} {
		if err := writeDraft(t, client, requests...); err == nil || status.Code(err) == codes.OK {
			t.Errorf("%s is taken", what)
		}
	}
	// None of it harms the draft.
	if err := writeDraft(t, client, &request{Draft: draft, Data: []byte("hello")}); err != nil {
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
	for _, r := range []*fileservicepb.ReadDraftRequest{
		{Draft: draft, Offset: -1, Length: 1},
		{Draft: draft, Length: -1},
		{Draft: other, Length: 1},
		{Draft: draft, Offset: 1, Length: math.MaxInt64},
	} {
		stream, err := client.ReadDraft(t.Context(), r)
		if err == nil {
			_, err = stream.Recv()
		}
		if err == nil || err == io.EOF {
			t.Errorf("%v is answered", r)
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
	client := filetest.Raw(t, filetest.Listen(t, dir, nil))
	draft := make([]byte, 16)
	ctx := t.Context()
	_, openErr := client.OpenDraft(ctx, &fileservicepb.OpenDraftRequest{Path: "file"})
	_, changeErr := client.ChangeDraft(ctx, &fileservicepb.ChangeDraftRequest{Draft: draft})
	_, publishErr := client.PublishDraft(ctx, &fileservicepb.PublishDraftRequest{Draft: draft, Path: "file"})
	writeErr := writeDraft(t, client, &fileservicepb.WriteDraftRequest{Draft: draft, Data: []byte("x")})
	for _, err := range []error{openErr, changeErr, publishErr, writeErr} {
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
