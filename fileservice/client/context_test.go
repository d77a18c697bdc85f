package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
)

// stuck is a server whose calls for data and for drafts begin and never end.
type stuck struct {
	*filetest.Liar
	begun chan struct{}
}

func newStuck() *stuck {
	s := &stuck{begun: make(chan struct{}, 1)}
	s.Liar = fileOf(1<<20, func(*filetest.DataMessage, func(...*filetest.DataMessage) error) error {
		s.begun <- struct{}{}
		return nil
	})
	return s
}

func (s *stuck) OpenDraft(
	ctx context.Context, _ *fileservicepb.OpenDraftRequest,
) (*fileservicepb.OpenDraftResponse, error) {
	s.begun <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (*stuck) Stat(_ context.Context, r *fileservicepb.StatRequest) (*fileservicepb.Entry, error) {
	return &fileservicepb.Entry{Name: r.GetPath(), Mode: 0o40755, Version: &fileservicepb.Version{}}, nil
}

// TestContextEndsCalls ends the context of a client, and of Create, while the server does not answer.
func TestContextEndsCalls(t *testing.T) {
	s := newStuck()
	remote := filetest.Lie(t, s)
	for name, call := range map[string]func(context.Context) error{
		"ReadAt": func(ctx context.Context) error {
			file, err := remote.WithContext(ctx).Open("file")
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.(io.ReaderAt).ReadAt(make([]byte, 10), 0)
			return err
		},
		"a large ReadAt": func(ctx context.Context) error {
			file, err := remote.WithContext(ctx).Open("file")
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.(io.ReaderAt).ReadAt(make([]byte, 1<<20), 0)
			return err
		},
		"ReadBlocks": func(ctx context.Context) error {
			return remote.ReadBlocks(ctx, "file", fileservice.Version{Size: 1 << 20}, 0, 1,
				func(int64, []byte, fileservice.Sum) error { return nil })
		},
		"WriteBlocks": func(ctx context.Context) error {
			return remote.WriteBlocks(ctx, "file", fileservice.Version{Size: 1 << 20}, 0, 1,
				bytes.NewReader(make([]byte, 1<<20)), func(int64, []byte, fileservice.Sum) {})
		},
		"WriteFiles": func(ctx context.Context) error {
			files, _ := twoFiles()
			_, err := remote.WriteFiles(ctx, ".", files, false, func(int, []byte) error { return nil })
			return err
		},
		"Replace": func(ctx context.Context) error {
			_, err := remote.Replace(ctx, "file")
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the caller has had enough")
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		select {
		case <-s.begun:
			cancel(cause)
			if err := <-ended; !errors.Is(err, cause) {
				t.Errorf("%s: error is %v", name, err)
			}
		case err := <-ended:
			t.Fatalf("%s does not wait: %v", name, err)
		}
	}
}

// TestContextThatHasEnded reads an open file, and closes a draft, after the context of the client has ended. Nothing is
// read, and the server drops the draft at once.
func TestContextThatHasEnded(t *testing.T) {
	dir, names := filetest.Tree(t, map[string]int{"file": 1 << 20})
	remote := filetest.Serve(t, dir, func(c *server.Config) { c.Writable = true })
	ctx, cancel := context.WithCancel(t.Context())
	within := remote.WithContext(ctx)
	file, err := within.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	draft, err := within.OpenFile("draft", os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	drafts := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := drafts()
	cancel()
	if _, err := file.(io.ReaderAt).ReadAt(make([]byte, 10), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	filetest.Discard(t, draft.(*client.WritableFile))
	if after := drafts(); after != before-1 {
		t.Errorf("%d files in the directory, and %d before", after, before)
	}
}
