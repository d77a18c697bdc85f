package client_test

import (
	"context"
	"errors"
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
	"culvert/internal/testkit"
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

// dataLies are answers to reads of two blocks, of which the second has 5 bytes.
func dataLies() map[string]filetest.SendData {
	type message = filetest.DataMessage
	block, rest, other := make([]byte, fileservice.BlockSize), []byte("hello"), []byte("jello")
	sums := [][]byte{filetest.SumOf(block, 0), filetest.SumOf(rest, 1)}
	const part = 256 << 10
	// whole answers one request with all of a block, and a head.
	whole := func(r *message, data, head []byte) (messages []*message) {
		for len(data) > part {
			messages, data = append(messages, r.More(data[:part])), data[part:]
		}
		return append(messages, r.End(head, data))
	}
	answers := func(first, second func(r *message) []*message) filetest.SendData {
		return func(r *message, send func(...*message) error) error {
			if r.Offset() == 0 {
				return send(first(r)...)
			}
			return send(second(r)...)
		}
	}
	good := func(r *message) []*message { return whole(r, block, sums[0]) }
	goodRest := func(r *message) []*message { return whole(r, rest, sums[1]) }
	nothing := func(r *message) []*message { return whole(r, nil, nil) }
	return map[string]filetest.SendData{
		"nothing":       answers(nothing, nothing),
		"one block":     answers(good, nothing),
		"a part of one": answers(func(r *message) []*message { return whole(r, block[1:], sums[0]) }, goodRest),
		"a longer rest": answers(good, func(r *message) []*message { return whole(r, block[:6], sums[1]) }),
		"a longer block": answers(func(r *message) []*message {
			return append(whole(r, block, sums[0])[:3], r.More(block[:part]), r.End(sums[0], rest))
		}, goodRest),
		"other bytes": answers(good, func(r *message) []*message { return whole(r, other, sums[1]) }),
		"no sum":      answers(func(r *message) []*message { return whole(r, block, nil) }, goodRest),
		"a short sum": answers(func(r *message) []*message { return whole(r, block, sums[0][:15]) }, goodRest),
		"a long sum": answers(func(r *message) []*message {
			return whole(r, block, append(sums[0][:16:16], 0))
		}, goodRest),
		"sums exchanged": answers(func(r *message) []*message { return whole(r, block, sums[1]) },
			func(r *message) []*message { return whole(r, rest, sums[0]) }),
		"an early sum": answers(func(r *message) []*message {
			m := r.More(block[:part])
			m.Head = sums[0]
			return []*message{m}
		}, goodRest),
		"a long part": answers(func(r *message) []*message {
			return []*message{r.More(block[:part+1]), r.End(sums[0], block[part+1:])}
		}, goodRest),
		"a part of nothing": answers(func(r *message) []*message { return []*message{r.More(nil)} }, goodRest),
		"only a sum":        answers(func(r *message) []*message { return whole(r, nil, sums[0]) }, goodRest),
		"a message of 8 MB": answers(func(r *message) []*message {
			return []*message{r.End(sums[0], make([]byte, 8<<20))}
		}, goodRest),
		"two ends":       answers(func(r *message) []*message { return append(nothing(r), nothing(r)...) }, nothing),
		"another's data": answers(func(r *message) []*message { return good(&message{ID: r.ID + 77}) }, goodRest),
		"no data, endless": func(r *message, send func(...*message) error) error {
			for {
				if err := send(r.End(nil, nil)); err != nil {
					return err
				}
			}
		},
	}
}

func TestDataThatLies(t *testing.T) {
	version := fileservice.Version{Size: fileservice.BlockSize + 5}
	for what, read := range dataLies() {
		client := filetest.Lie(t, &filetest.Liar{OnData: read})
		got := 0
		err := client.ReadBlocks(t.Context(), "file", version, 0, 2, func(int64, []byte, fileservice.Sum) error {
			got++
			return nil
		})
		if !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: blocks: %v", what, err)
		}
		if what == "other bytes" && got != 1 {
			t.Errorf("%s: %d blocks were handed out", what, got)
		}
		// Without sums, other bytes cannot be told from the right ones.
		err = client.ReadRange(t.Context(), "file", version, make([]byte, version.Size), 0)
		canPass := strings.Contains(what, "sum") && what != "only a sum" && what != "an early sum" ||
			what == "other bytes"
		if canPass && err != nil || !canPass && !errors.Is(err, fileservice.ErrIntegrity) {
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
	type message = filetest.DataMessage
	write := func(answer func(*message) *message) error {
		client := filetest.Lie(t, &filetest.Liar{OnData: func(r *message, send func(...*message) error) error {
			return send(answer(r))
		}})
		return client.WriteBlocks(t.Context(), "file", version, 0, 3, strings.NewReader(content),
			func(int64, []byte, fileservice.Sum) {})
	}
	for what, answer := range map[string]func(*message) *message{
		"data":          func(r *message) *message { return r.End(nil, []byte("x")) },
		"more":          func(r *message) *message { return r.More([]byte("x")) },
		"another's end": func(r *message) *message { return (&message{ID: r.ID + 7}).End(nil, nil) },
		"a good error":  func(r *message) *message { return r.Fail(codes.OK, "fine") },
		"no error": func(r *message) *message {
			return &message{ID: r.ID, Kind: filetest.Failed, Head: []byte{0xff}}
		},
	} {
		if err := write(answer); !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// What a server says of one block is not lost.
	err := write(func(r *message) *message {
		if r.Offset() > 0 {
			return r.End(nil, nil)
		}
		return r.Fail(codes.ResourceExhausted, "no space left on device")
	})
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
	l.OnData = func(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
		err := send(r.More(make([]byte, 100)))
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
	err = client.WriteBlocks(t.Context(), "file", fileservice.Version{Size: 1}, 0, 1, strings.NewReader("x"),
		func(int64, []byte, fileservice.Sum) {})
	if err == nil {
		t.Error("a write is not answered, and no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.WithContext(ctx).Stat("file"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	if _, err := client.WithContext(ctx).Open("file"); !errors.Is(err, context.Canceled) {
		t.Errorf("a get that was given up: %v", err)
	}
}

// TestSilenceWhenConnecting has a server that accepts connections, and says nothing.
func TestSilenceWhenConnecting(t *testing.T) {
	listener := testkit.ListenTCP(t)
	t.Cleanup(func() { _ = listener.Close() })
	client := filetest.Connect(t, client.Config{
		Dial: filetest.Dialer(listener.Addr().String()), Timeout: 50 * time.Millisecond,
	})
	if _, err := client.Open("file"); !errors.Is(err, fileservice.ErrUnreachable) {
		t.Errorf("a get: %v", err)
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
