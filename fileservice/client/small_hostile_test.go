package client_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

// twoFiles are files of five and three bytes, with their sums.
func twoFiles() (files []fileservice.SmallFile, sums [][]byte) {
	for i, content := range []string{"hello", "you"} {
		version := fileservice.Version{Size: int64(len(content))}
		files = append(files, fileservice.SmallFile{Name: fmt.Sprint("file", i), Version: version})
		sums = append(sums, filetest.SumOf([]byte(content), 0))
	}
	return files, sums
}

// TestSmallFilesThatLie has a server return another thing than was asked for. The client takes nothing that does not
// have its sum, and gives up.
func TestSmallFilesThatLie(t *testing.T) {
	type message = filetest.DataMessage
	files, sums := twoFiles()
	// file answers the request for one of the files as it should be.
	file := func(r *message) *message {
		if strings.HasSuffix(r.Target(), "0") {
			return r.End(sums[0], []byte("hello"))
		}
		return r.End(sums[1], []byte("you"))
	}
	second := func(answer func(r *message) []*message) func(r *message) []*message {
		return func(r *message) []*message {
			if strings.HasSuffix(r.Target(), "0") {
				return []*message{file(r)}
			}
			return answer(r)
		}
	}
	one := func(answer func(r *message) *message) func(r *message) []*message {
		return second(func(r *message) []*message { return []*message{answer(r)} })
	}
	for what, answer := range map[string]func(r *message) []*message{
		"nothing":      one(func(r *message) *message { return r.End(nil, nil) }),
		"another file": one(func(r *message) *message { return r.End(sums[0], []byte("hello")) }),
		"other bytes":  one(func(r *message) *message { return r.End(sums[1], []byte("yon")) }),
		"no sum":       one(func(r *message) *message { return r.End(nil, []byte("you")) }),
		"a short sum":  one(func(r *message) *message { return r.End(sums[1][:15], []byte("you")) }),
		"a long sum": one(func(r *message) *message {
			return r.End(append(sums[1][:16:16], 1), []byte("you"))
		}),
		"less data":             one(func(r *message) *message { return r.End(sums[1], []byte("yo")) }),
		"more data":             one(func(r *message) *message { return r.End(sums[1], []byte("you!")) }),
		"a message of 8 MB":     one(func(r *message) *message { return r.End(sums[1], make([]byte, 8<<20)) }),
		"an error that is none": one(func(r *message) *message { return r.Fail(codes.OK, "fine") }),
		"an error of garbage": one(func(r *message) *message {
			return &message{ID: r.ID, Kind: filetest.Failed, Head: []byte("\x12\x02\xff\xff")}
		}),
		"a file twice": func(r *message) []*message { return []*message{file(r), file(r)} },
		"data of an error": second(func(r *message) []*message {
			return []*message{r.More([]byte("you!")), r.Fail(codes.NotFound, "")}
		}),
	} {
		client := filetest.Lie(t, &filetest.Liar{OnData: func(r *message, send func(...*message) error) error {
			return send(answer(r)...)
		}})
		yield := func(i int, content []byte, _ fileservice.Sum, err error) error {
			if err == nil && string(content) != []string{"hello", "you"}[i] {
				t.Errorf("%s: file %d is %q", what, i, content)
			}
			return nil
		}
		if err := client.ReadFiles(t.Context(), ".", files, yield); !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Answers may come in any order. An error with a long text concerns one file.
	var first *message
	client := filetest.Lie(t, &filetest.Liar{OnData: func(r *message, send func(...*message) error) error {
		if strings.HasSuffix(r.Target(), "0") {
			first = r
			return nil
		}
		return send(r.Fail(codes.NotFound, strings.Repeat("x", 60<<10)), file(first))
	}})
	var errs []error
	err := client.ReadFiles(t.Context(), ".", files, func(_ int, _ []byte, _ fileservice.Sum, err error) error {
		errs = append(errs, err)
		return nil
	})
	if err != nil || len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], os.ErrNotExist) ||
		len(errs[1].Error()) > 500 {
		t.Errorf("%v, %.1000v", err, errs)
	}
}

func TestSmallWritesThatLie(t *testing.T) {
	type message = filetest.DataMessage
	files, _ := twoFiles()
	heads := map[string][]byte{"garbage": {0xff}}
	for _, results := range []int{0, 1, 3, 10_000} {
		r := &fileservicepb.SmallFileResults{}
		for range results {
			r.Files = append(r.Files, &fileservicepb.SmallFileResult{})
		}
		heads[fmt.Sprint(results, " results")] = encode(r)
	}
	heads["an error that is none"] = encode(&fileservicepb.SmallFileResults{Files: []*fileservicepb.SmallFileResult{
		{}, {Error: &spb.Status{Message: "fine"}},
	}})
	for what, head := range heads {
		client := filetest.Lie(t, &filetest.Liar{OnData: func(r *message, send func(...*message) error) error {
			return send(r.End(head, nil))
		}})
		_, err := client.WriteFiles(t.Context(), ".", files, false, func(int, []byte) error { return nil })
		if !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWriteFilesOfNothing has no file that can be read. The others are not sent.
func TestWriteFilesOfNothing(t *testing.T) {
	dir := t.TempDir()
	files, _ := twoFiles()
	unreadable := errors.New("unreadable")
	client := filetest.Serve(t, dir, filetest.Writable)
	errs, err := client.WriteFiles(t.Context(), ".", files, false, func(int, []byte) error { return unreadable })
	if err != nil || len(errs) != 2 || errs[0] != unreadable || errs[1] != unreadable {
		t.Error(errs, err)
	}
	seeNothing(t, dir)
}

// TestSmallUploadsThatLie has clients that break the rules. Nothing is there after it.
func TestSmallUploadsThatLie(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	conn := filetest.RawData(t, filetest.Listen(t, dir, filetest.Writable))
	named := func(name string, size int64) *fileservicepb.SmallFile {
		return &fileservicepb.SmallFile{
			Name: name, Version: &fileservicepb.Version{Size: size}, Hash: filetest.SumOf([]byte("hello"), 0),
		}
	}
	write := func(dir, data string, files ...*fileservicepb.SmallFile) (*fileservicepb.SmallFileResults, error) {
		target := encode(&fileservicepb.SmallFiles{Directory: dir, Files: files})
		r := exchange.Request{Kind: exchange.PutFiles, Target: string(target)}
		call, err := filetest.Ask(conn, r, []byte(data))
		results := &fileservicepb.SmallFileResults{}
		return results, errors.Join(err, proto.Unmarshal(call.Head, results))
	}
	many := func() (files []*fileservicepb.SmallFile) {
		for i := range fileservice.MaxSmallFiles + 1 {
			files = append(files, named(fmt.Sprint(i), 5))
		}
		return files
	}
	type files = []*fileservicepb.SmallFile
	for what, c := range map[string]struct {
		want      error
		dir, data string
		files     files
	}{
		"data of no file":       {os.ErrInvalid, ".", "hello", nil},
		"another sum":           {fileservice.ErrIntegrity, ".", "jello", files{named("a", 5)}},
		"less data":             {os.ErrInvalid, ".", "hell", files{named("a", 5)}},
		"more data":             {os.ErrInvalid, ".", "hello!", files{named("a", 5)}},
		"a negative size":       {os.ErrInvalid, ".", "hello", files{named("a", -5)}},
		"a large file":          {os.ErrInvalid, ".", "hello", files{named("a", 1<<20)}},
		"a name that leads up":  {os.ErrInvalid, ".", "hello", files{named("..", 5)}},
		"a path":                {os.ErrInvalid, ".", "hello", files{named("link/a", 5)}},
		"an absolute path":      {os.ErrInvalid, ".", "hello", files{named("/a", 5)}},
		"no name":               {os.ErrInvalid, ".", "hello", files{named("", 5)}},
		"a control character":   {os.ErrInvalid, ".", "hello", files{named("a\x1b", 5)}},
		"a directory above":     {os.ErrInvalid, "..", "hello", files{named("a", 5)}},
		"a link to a directory": {os.ErrInvalid, "link", "hello", files{named("a", 5)}},
		"one of two is wrong":   {os.ErrInvalid, ".", "hellohello", files{named("a", 5), named("..", 5)}},
		"too many files": {
			os.ErrInvalid, ".", strings.Repeat("hello", fileservice.MaxSmallFiles+1), many(),
		},
	} {
		if _, err := write(c.dir, c.data, c.files...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	r := exchange.Request{Kind: exchange.PutFiles, Target: "\xff garbage"}
	if _, err := filetest.Ask(conn, r, []byte("hello")); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("garbage: %v", err)
	}
	// A name of an unfinished file is wrong about itself alone.
	response, err := write(".", "hello", named("a.culvert.part", 5))
	if err != nil || codes.Code(response.GetFiles()[0].GetError().GetCode()) != codes.FailedPrecondition {
		t.Errorf("%v, %v", response, err)
	}
	seeNothing(t, outside)
	if err := os.Remove(filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	seeNothing(t, dir)
}

func seeNothing(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestSmallFilesOfTheServer asks for what is no small file, or is not there any more, among others that are.
func TestSmallFilesOfTheServer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"good", "changed", "removed", "better"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var files []fileservice.SmallFile
	for _, name := range []string{"good", "changed", "removed", "link", "sub", "better"} {
		file := fileservice.SmallFile{Name: name}
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			file.Version = fileservice.VersionOf(info)
		}
		files = append(files, file)
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "changed"), []byte("another"), 0o600), os.Remove(filepath.Join(dir, "removed")),
		os.Symlink("good", filepath.Join(dir, "link")), os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	client := filetest.Serve(t, dir, nil)
	want := []error{nil, fileservice.ErrChanged, os.ErrNotExist, os.ErrInvalid, os.ErrInvalid, nil}
	came := 0
	err = client.ReadFiles(t.Context(), ".", files, func(i int, content []byte, _ fileservice.Sum, err error) error {
		if i != came || !errors.Is(err, want[i]) || err == nil && string(content) != files[i].Name {
			t.Errorf("%d, %s: %q, %v", i, files[i].Name, content, err)
		}
		came++
		return nil
	})
	if err != nil || came != len(files) {
		t.Errorf("%d files, %v", came, err)
	}
	err = client.ReadFiles(t.Context(), ".", make([]fileservice.SmallFile, fileservice.MaxSmallFiles+1), nil)
	if !errors.Is(err, os.ErrInvalid) {
		t.Errorf("too many: %v", err)
	}
}
