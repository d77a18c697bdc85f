package client_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

func TestNamesThatLead(t *testing.T) {
	for _, name := range []string{
		"..", ".", "", "/", "/etc", "a/b", "../a", "a\x00b", "a\nb", "a\x1b[2Jb", "a\u202eb", "\u009b31m",
		strings.Repeat("x", 256),
	} {
		client := filetest.Lie(t, &filetest.Liar{
			OnList: func(send func(*fileservicepb.ListResponse) error) error {
				entries := []*fileservicepb.Entry{filetest.Entry("good", 1), filetest.Entry(name, 1)}
				return send(&fileservicepb.ListResponse{Entries: entries})
			},
			OnStat: func() (*fileservicepb.Entry, error) { return filetest.Entry(name, 1), nil },
		})
		entries, err := client.ReadDir("dir")
		if !errors.Is(err, fileservice.ErrIntegrity) || len(entries) != 1 {
			t.Errorf("%q in a listing: %v, %v", name, entries, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x00\n\x1b\u202e\u009b") {
			t.Errorf("%q reaches a terminal", name)
		}
		if _, err := client.Stat("file"); !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%q as the name of another file: %v", name, err)
		}
	}
}

func TestEntriesThatLie(t *testing.T) {
	directory := filetest.Entry("file", 5)
	directory.Mode = 0o040755
	for what, e := range map[string]*fileservicepb.Entry{
		"a negative size":         filetest.Entry("file", -1),
		"a size that overflows":   filetest.Entry("file", 1<<63-1),
		"a directory with a size": directory,
		"another name":            filetest.Entry("other", 1),
		"nothing":                 {},
	} {
		client := filetest.Lie(t, &filetest.Liar{OnStat: func() (*fileservicepb.Entry, error) { return e, nil }})
		if _, err := client.Stat("file"); !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestListingsWithoutEnd(t *testing.T) {
	for what, page := range map[string]*fileservicepb.ListResponse{
		"entries":     {Entries: []*fileservicepb.Entry{filetest.Entry("a", 1), filetest.Entry("b", 1)}},
		"empty pages": {},
		"long pages":  {Entries: make([]*fileservicepb.Entry, 1001)},
	} {
		for i := range page.Entries {
			page.Entries[i] = filetest.Entry("name", 1)
		}
		client := filetest.Lie(t, &filetest.Liar{OnList: func(send func(*fileservicepb.ListResponse) error) error {
			for {
				if err := send(page); err != nil {
					return err
				}
			}
		}})
		count := 0
		for info, err := range client.List(t.Context(), ".") {
			if info != nil {
				count++
			} else if !errors.Is(err, fileservice.ErrIntegrity) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if count > 1000 {
			t.Errorf("%s: %d of them", what, count)
		}
	}
	client := filetest.Lie(t, &filetest.Liar{OnList: func(send func(*fileservicepb.ListResponse) error) error {
		twice := []*fileservicepb.Entry{filetest.Entry("a", 1), filetest.Entry("a", 2)}
		return send(&fileservicepb.ListResponse{Entries: twice})
	}})
	if _, err := client.ReadDir("."); !errors.Is(err, fileservice.ErrIntegrity) {
		t.Errorf("a name twice: %v", err)
	}
}

// dataLies are answers to a read of two blocks, of which the second has 5 bytes.
func dataLies() map[string]func(*fileservicepb.ReadRequest, func(*fileservicepb.ReadResponse) error) error {
	block, rest := make([]byte, fileservice.BlockSize), []byte("hello")
	const size = fileservice.BlockSize + 5
	sums := [][]byte{filetest.SumOf(block, 0, size), filetest.SumOf(rest, 1, size)}
	send := func(parts ...*fileservicepb.ReadResponse) func(
		*fileservicepb.ReadRequest, func(*fileservicepb.ReadResponse) error,
	) error {
		return func(_ *fileservicepb.ReadRequest, send func(*fileservicepb.ReadResponse) error) error {
			for _, part := range parts {
				if err := send(part); err != nil {
					return err
				}
			}
			return nil
		}
	}
	part := func(data, hash []byte) *fileservicepb.ReadResponse {
		return &fileservicepb.ReadResponse{Data: data, Hash: hash}
	}
	a, b, c, d := block[:256<<10], block[256<<10:512<<10], block[512<<10:768<<10], block[768<<10:]
	first, last := part(d, sums[0]), part(rest, sums[1])
	other := append([]byte("jello"), rest[5:]...)
	return map[string]func(*fileservicepb.ReadRequest, func(*fileservicepb.ReadResponse) error) error{
		"nothing":           send(),
		"one block":         send(part(a, nil), part(b, nil), part(c, nil), part(d, sums[0])),
		"a part of one":     send(part(a, nil), part(b, nil)),
		"other bytes":       send(part(a, nil), part(b, nil), part(c, nil), part(d, sums[0]), part(other, sums[1])),
		"no hash":           send(part(a, nil), part(b, nil), part(c, nil), part(d, nil), part(rest, sums[1])),
		"an early hash":     send(part(a, sums[0]), part(b, nil), part(c, nil), part(d, sums[0]), part(rest, sums[1])),
		"a short hash":      send(part(a, nil), part(b, nil), part(c, nil), part(d, sums[0][:31]), part(rest, sums[1])),
		"hashes exchanged":  send(part(a, nil), part(b, nil), part(c, nil), part(d, sums[1]), part(rest, sums[0])),
		"more at the end":   send(part(a, nil), part(b, nil), part(c, nil), first, last, last),
		"a longer rest":     send(part(a, nil), part(b, nil), part(c, nil), part(d, sums[0]), part(block[:6], sums[1])),
		"over the border":   send(part(a, nil), part(b, nil), part(c, nil), part(block[:300<<10], sums[0]), last),
		"no data":           send(part(nil, nil), part(nil, nil)),
		"only a hash":       send(part(nil, sums[0])),
		"a message of 8 MB": send(part(make([]byte, 8<<20), sums[0])),
		"no data, endless": func(_ *fileservicepb.ReadRequest, send func(*fileservicepb.ReadResponse) error) error {
			for {
				if err := send(&fileservicepb.ReadResponse{}); err != nil {
					return err
				}
			}
		},
	}
}

func TestDataThatLies(t *testing.T) {
	version := fileservice.Version{Size: fileservice.BlockSize + 5}
	for what, read := range dataLies() {
		client := filetest.Lie(t, &filetest.Liar{OnRead: read})
		got := 0
		err := client.ReadBlocks(t.Context(), "file", version, 0, 2, make([]byte, fileservice.BlockSize),
			func(int64, []byte, fileservice.Sum) error {
				got++
				return nil
			})
		if !errors.Is(err, fileservice.ErrIntegrity) && !errors.Is(err, fileservice.ErrRefused) {
			t.Errorf("%s: blocks: %v", what, err)
		}
		if what == "other bytes" && got != 1 {
			t.Errorf("%s: %d blocks were handed out", what, got)
		}
		// Without hashes other bytes cannot be told from the right ones.
		err = client.ReadRange(t.Context(), "file", version, make([]byte, version.Size), 0)
		hashes := strings.Contains(what, "hash") || what == "other bytes"
		if err == nil && !hashes || err != nil && hashes && what != "a short hash" && what != "only a hash" {
			t.Errorf("%s: a range: %v", what, err)
		}
	}
}

func TestCommittedThatLies(t *testing.T) {
	version := fileservice.Version{Size: 10 * fileservice.BlockSize}
	for what, ranges := range map[string][][2]int64{
		"behind the end": {{9, 2}}, "negative": {{-1, 2}}, "empty": {{1, 0}}, "overflow": {{1, 1<<63 - 1}},
		"overlap": {{0, 3}, {2, 3}}, "no order": {{5, 1}, {1, 1}}, "a negative count": {{5, -1}},
	} {
		client := filetest.Lie(t, &filetest.Liar{OnQuery: func() *fileservicepb.QueryWriteStatusResponse {
			response := &fileservicepb.QueryWriteStatusResponse{}
			for _, r := range ranges {
				committed := &fileservicepb.BlockRange{FirstBlock: r[0], Blocks: r[1]}
				response.Committed = append(response.Committed, committed)
			}
			return response
		}})
		_, err := client.QueryWrite(t.Context(), "file", version, false)
		if !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWritesThatAreNotTaken(t *testing.T) {
	content := strings.Repeat("x", 3*fileservice.BlockSize)
	version := fileservice.Version{Size: int64(len(content))}
	for what, blocks := range map[string]int64{"too few": 2, "too many": 4, "negative": -3} {
		client := filetest.Lie(t, &filetest.Liar{OnWrite: func(
			receive func() (*fileservicepb.WriteRequest, error),
		) (*fileservicepb.WriteResponse, error) {
			for {
				if _, err := receive(); err == io.EOF {
					return &fileservicepb.WriteResponse{Blocks: blocks}, nil
				} else if err != nil {
					return nil, err
				}
			}
		}})
		err := client.WriteBlocks(t.Context(), "file", version, 0, 3, strings.NewReader(content),
			func(int64, fileservice.Sum) {})
		if !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// What a server says when it ends a call early is not lost.
	client := filetest.Lie(t, &filetest.Liar{OnWrite: func(
		receive func() (*fileservicepb.WriteRequest, error),
	) (*fileservicepb.WriteResponse, error) {
		_, err := receive()
		return nil, errors.Join(err, status.Error(codes.ResourceExhausted, "no space left on device"))
	}})
	err := client.WriteBlocks(t.Context(), "file", version, 0, 3, strings.NewReader(content),
		func(int64, fileservice.Sum) {})
	if !errors.Is(err, fileservice.ErrRefused) || !strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
}

// TestSilence has servers that answer nothing, or stop in the middle.
func TestSilence(t *testing.T) {
	release := make(chan struct{})
	var l filetest.Liar
	l.OnStat = func() (*fileservicepb.Entry, error) {
		<-release
		return nil, status.Error(codes.NotFound, "")
	}
	l.OnRead = func(_ *fileservicepb.ReadRequest, send func(*fileservicepb.ReadResponse) error) error {
		err := send(&fileservicepb.ReadResponse{Data: make([]byte, 100)})
		<-release
		return err
	}
	address := filetest.LieAt(t, &l)
	t.Cleanup(func() { close(release) }) // before the server is stopped
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Timeout: 50 * time.Millisecond})
	if _, err := client.Stat("file"); !errors.Is(err, fileservice.ErrUnreachable) {
		t.Errorf("no answer: %v", err)
	}
	err := client.ReadRange(t.Context(), "file", fileservice.Version{Size: 1000}, make([]byte, 1000), 0)
	if !errors.Is(err, fileservice.ErrUnreachable) {
		t.Errorf("half an answer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.WithContext(ctx).Stat("file"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
}

// TestErrorsOfStrangers has texts in errors that would do harm.
func TestErrorsOfStrangers(t *testing.T) {
	for code, want := range map[codes.Code]error{
		codes.NotFound:           fs.ErrNotExist,
		codes.PermissionDenied:   fs.ErrPermission,
		codes.AlreadyExists:      fs.ErrExist,
		codes.InvalidArgument:    fs.ErrInvalid,
		codes.Aborted:            fileservice.ErrChanged,
		codes.DataLoss:           fileservice.ErrIntegrity,
		codes.ResourceExhausted:  fileservice.ErrRefused,
		codes.FailedPrecondition: fileservice.ErrRefused,
		codes.Unimplemented:      fileservice.ErrRefused,
		codes.Unavailable:        fileservice.ErrUnreachable,
	} {
		client := filetest.Lie(t, &filetest.Liar{OnStat: func() (*fileservicepb.Entry, error) {
			return nil, status.Error(code, "\x1b]0;title\a"+strings.Repeat("long ", 1000)+"\r\n")
		}})
		_, err := client.Stat("file")
		if !errors.Is(err, want) {
			t.Errorf("%v: %v", code, err)
		}
		if text := err.Error(); len(text) > 500 || strings.ContainsAny(text, "\x1b\a\r\n") {
			t.Errorf("%v: %q", code, text)
		}
	}
}

// TestClose closes a client while it waits.
func TestClose(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{})
	address := filetest.LieAt(t, &filetest.Liar{OnStat: func() (*fileservicepb.Entry, error) {
		close(asked)
		<-release
		return nil, status.Error(codes.NotFound, "")
	}})
	t.Cleanup(func() { close(release) })
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	ended := make(chan error, 1)
	go func() {
		_, err := client.Stat("file")
		ended <- err
	}()
	<-asked
	if err := errors.Join(client.Close(), client.Close()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || errors.Is(err, fileservice.ErrUnreachable) {
		t.Errorf("the call that was under way: %v", err)
	}
	if _, err := client.Stat("file"); err == nil || !strings.Contains(err.Error(), "client is closed") {
		t.Errorf("a call after it: %v", err)
	}
}
