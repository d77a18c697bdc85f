package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/place"
)

// presence copies files from a directory to another one, in which they may be present.
type presence struct {
	from, to string
	copy     func(overwrite, dry bool) (transfer.Result, error)
}

// presences returns a presence for each way of copying: with a server, and from a place with checksums and without.
func presences(t *testing.T, files map[string]int) map[string]presence {
	t.Helper()
	all := map[string]presence{}
	for _, role := range []string{"push", "pull", "pull from a place with sums", "pull from a place"} {
		from, _ := filetest.Tree(t, files)
		to := t.TempDir()
		config := func(local string, overwrite, dry bool) transfer.Config {
			return transfer.Config{
				Remote: ".", Root: filetest.OpenRoot(t, local), Local: ".", Overwrite: overwrite, DryRun: dry,
			}
		}
		p := presence{from: from, to: to}
		switch role {
		case "push":
			client := filetest.Serve(t, to, filetest.Writable)
			p.copy = func(overwrite, dry bool) (transfer.Result, error) {
				return transfer.Push(t.Context(), client.Place(), config(from, overwrite, dry))
			}
		case "pull":
			client := filetest.Serve(t, from, nil)
			p.copy = func(overwrite, dry bool) (transfer.Result, error) {
				return transfer.Pull(t.Context(), client.Place(), config(to, overwrite, dry))
			}
		default:
			source := &keepingPlace{versionedPlace: openVersioned(t, from)}
			if role == "pull from a place with sums" {
				source.algorithm = place.CRC64NVME
			}
			p.copy = func(overwrite, dry bool) (transfer.Result, error) {
				return transfer.Pull(t.Context(), source, config(to, overwrite, dry))
			}
		}
		all[role] = p
	}
	return all
}

// TestPresent copies files to where others of the same sizes are. Without Overwrite, the same time is enough to leave
// them alone. With it, only equal sums are.
func TestPresent(t *testing.T) {
	const sent, exists = "sent", "exists"
	for name, test := range map[string]struct {
		sameBytes, sameTime bool
		want, forced        string
	}{
		"same":              {true, true, "", ""},
		"other, same time":  {false, true, "", sent},
		"same, other time":  {true, false, exists, sent},
		"other, other time": {false, false, exists, sent},
	} {
		for role, p := range presences(t, map[string]int{"large": 2*fileservice.BlockSize + 5, "dir/small": 100}) {
			if result, err := p.copy(false, false); err != nil || result.Files != 2 {
				t.Fatalf("%s, %s: %+v, %v", role, name, result, err)
			}
			for _, file := range []string{"large", "dir/small"} {
				changeSource(t, filepath.Join(p.from, file), test.sameBytes, test.sameTime, false)
			}
			for _, how := range []struct{ force, dry bool }{
				{false, true}, {false, false}, {true, true}, {true, false},
			} {
				result, err := p.copy(how.force, how.dry)
				want := test.want
				if how.force {
					want = test.forced
				}
				if role == "pull from a place" && how.force {
					want = sent // nothing tells that it has not changed
				}
				var ok bool
				switch {
				case want == "":
					ok = err == nil && result.Present == 2
				case want == sent || how.dry: // a dry run does not say that a name is taken
					ok = err == nil && result.Files == 2
				default:
					ok = errors.Is(err, fs.ErrExist) && result.Failed == 2
				}
				if !ok {
					t.Errorf("%s, %s, %+v: %+v, %v", role, name, how, result, err)
				}
			}
			seeCopies(t, p.from, p.to)
		}
	}
}

// TestPushRace has another client make files of the same sizes and times, and with other bytes, after a push has seen
// that there are none: it does not take them for its own.
func TestPushRace(t *testing.T) {
	for name, size := range map[string]int{"small": 100, "large": 2*fileservice.BlockSize + 5} {
		for _, same := range []bool{true, false} {
			from, _ := filetest.Tree(t, map[string]int{"file": size})
			to := t.TempDir()
			client := filetest.Serve(t, to, filetest.Writable)
			content, err := os.ReadFile(filepath.Join(from, "file"))
			if err != nil {
				t.Fatal(err)
			}
			if !same {
				content = bytes.Repeat([]byte("z"), size)
			}
			var once sync.Once
			config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: "."}
			config.Withhold = func(info fs.FileInfo) error { // the server has been listed
				once.Do(func() {
					path := filepath.Join(to, "file")
					err := os.WriteFile(path, content, 0o600)
					if err := errors.Join(err, os.Chtimes(path, time.Time{}, info.ModTime())); err != nil {
						t.Error(err)
					}
				})
				return nil
			}
			result, err := transfer.Push(t.Context(), client.Place(), config)
			present, refused := err == nil && result.Present == 1, errors.Is(err, fs.ErrExist)
			if present != same || refused == same {
				t.Errorf("%s, the same: %v: %+v, %v", name, same, result, err)
			}
		}
	}
}

// TestPullRace is TestPushRace for a pull that has begun to read. Another pull may be the one that makes the files.
func TestPullRace(t *testing.T) {
	for name, size := range map[string]int{"small": 100, "large": 2*fileservice.BlockSize + 5} {
		for _, same := range []bool{true, false} {
			from, _ := filetest.Tree(t, map[string]int{"sub/file": size})
			to := t.TempDir()
			content, err := os.ReadFile(filepath.Join(from, "sub", "file"))
			if err != nil {
				t.Fatal(err)
			}
			if !same {
				content = bytes.Repeat([]byte("z"), size)
			}
			source := &keepingPlace{versionedPlace: openVersioned(t, from), algorithm: place.CRC64NVME}
			racing := &racingPlace{keepingPlace: source, opened: sync.OnceValue(func() error {
				path := filepath.Join(to, "sub", "file")
				info, err := os.Stat(filepath.Join(from, "sub", "file"))
				err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600))
				if err != nil {
					return err
				}
				return os.Chtimes(path, time.Time{}, info.ModTime())
			})}
			config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, to), Local: "."}
			result, err := transfer.Pull(t.Context(), racing, config)
			present, refused := err == nil && result.Present == 1, errors.Is(err, fs.ErrExist)
			if present != same || refused == same {
				t.Errorf("%s, the same: %v: %+v, %v", name, same, result, err)
			}
		}
	}
}

// racingPlace calls opened before it opens sub/file.
type racingPlace struct {
	*keepingPlace
	opened func() error
}

func (p *racingPlace) Open(name string) (fs.File, error) {
	if name == "sub/file" {
		if err := p.opened(); err != nil {
			return nil, err
		}
	}
	return p.keepingPlace.Open(name)
}

// TestPushRaceOlder has a server that knows no sums say that a file exists, which it did not list. A push can compare
// only size and time.
func TestPushRaceOlder(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"file": 100})
	info, err := os.Stat(filepath.Join(from, "file"))
	if err != nil {
		t.Fatal(err)
	}
	exists := &fileservicepb.SmallFileResult{Error: status.New(codes.AlreadyExists, "").Proto()}
	results, err := proto.Marshal(&fileservicepb.SmallFileResults{Files: []*fileservicepb.SmallFileResult{exists}})
	if err != nil {
		t.Fatal(err)
	}
	older := &makingLiar{Liar: filetest.Liar{
		OnList: func(func(*fileservicepb.ListResponse) error) error { return nil },
		OnStat: func() (*fileservicepb.Entry, error) {
			entry := filetest.Entry("file", info.Size())
			entry.Version.ModifiedUnixNano = info.ModTime().UnixNano()
			return entry, nil
		},
		OnData: func(m *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
			return send(&filetest.DataMessage{ID: m.ID, Kind: filetest.End, Head: results})
		},
	}}
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: "."}
	result, err := transfer.Push(t.Context(), filetest.Lie(t, older).Place(), config)
	if err != nil || result.Present != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

// makingLiar says that it has made each directory, and set its time.
type makingLiar struct{ filetest.Liar }

func (*makingLiar) MakeDirectory(
	context.Context, *fileservicepb.MakeDirectoryRequest,
) (*fileservicepb.MakeDirectoryResponse, error) {
	return &fileservicepb.MakeDirectoryResponse{}, nil
}

func (*makingLiar) SetAttributes(
	context.Context, *fileservicepb.SetAttributesRequest,
) (*fileservicepb.SetAttributesResponse, error) {
	return &fileservicepb.SetAttributesResponse{}, nil
}
