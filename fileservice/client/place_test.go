package client_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/place"
	"culvert/place/placetest"
)

func TestPlace(t *testing.T) {
	placetest.Run(t, func(t *testing.T) place.Place { return serveWritable(t, server.Observer{}).Place() })
}

func serveWritable(t *testing.T, observer server.Observer) *client.Client {
	return filetest.Serve(t, t.TempDir(), func(config *server.Config) {
		config.Writable, config.Observer = true, observer
	})
}

// TestDirectoriesAreDurable looks at the calls that a server gets when a file is created in new directories.
func TestDirectoriesAreDurable(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	c := serveWritable(t, server.Observer{Called: func(call server.Call) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call.Method+" "+call.Path)
	}})
	f, err := c.Create(t.Context(), "outer/inner/file")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, call := range []string{"SyncDirectory .", "SyncDirectory outer"} {
		if !slices.Contains(calls, call) {
			t.Errorf("no call %q in %q", call, calls)
		}
	}
}

// TestContextDuringCreate has the context end while a server that hangs is asked.
func TestContextDuringCreate(t *testing.T) {
	ended := errors.New("the context has ended")
	for _, method := range []string{"Stat", "MakeDirectory", "SyncDirectory", "OpenDraft"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		released := make(chan struct{})
		c := serveWritable(t, server.Observer{Called: func(call server.Call) {
			if call.Method == method {
				cancel(ended)
				<-released
			}
		}})
		if _, err := c.Create(ctx, "outer/file"); !errors.Is(err, ended) {
			t.Errorf("%s: the error is %v", method, err)
		}
		close(released)
	}
}

// TestCanceledCreate has the context end before the server answers that it has opened the draft. The draft is dropped,
// and so is the directory that was made for it.
func TestCanceledCreate(t *testing.T) {
	ended := errors.New("the context has ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var mu sync.Mutex
	var drafts []string
	dir := t.TempDir()
	c := filetest.Serve(t, dir, func(config *server.Config) {
		config.Writable = true
		config.Observer.Called = func(call server.Call) {
			if call.Method == "OpenDraft" {
				cancel(ended)
			}
			if strings.HasSuffix(call.Method, "Draft") && call.Err == nil {
				mu.Lock()
				defer mu.Unlock()
				drafts = append(drafts, call.Method)
			}
		}
	})
	if _, err := c.Create(ctx, "outer/file"); !errors.Is(err, ended) {
		t.Errorf("the error is %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"OpenDraft", "DropDraft"}; !slices.Equal(drafts, want) {
		t.Errorf("the calls are %q, want %q", drafts, want)
	}
	if left := filetest.Contents(t, dir); len(left) > 1 { // the directory itself
		t.Errorf("the server has %q", left)
	}
}
