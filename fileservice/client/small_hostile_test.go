package client_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

// smallLiar is a server that answers to calls for small files as a test wants it to.
type smallLiar struct {
	filetest.Liar
	pages   []*fileservicepb.ReadFilesResponse
	forever bool
	result  *fileservicepb.WriteFilesResponse
}

func (l *smallLiar) ReadFiles(
	_ *fileservicepb.ReadFilesRequest, stream grpc.ServerStreamingServer[fileservicepb.ReadFilesResponse],
) error {
	for {
		for _, page := range l.pages {
			if err := stream.Send(page); err != nil {
				return err
			}
		}
		if !l.forever {
			return nil
		}
	}
}

func (l *smallLiar) WriteFiles(
	stream grpc.ClientStreamingServer[fileservicepb.WriteFilesRequest, fileservicepb.WriteFilesResponse],
) error {
	for {
		if _, err := stream.Recv(); err != nil {
			return stream.SendAndClose(l.result)
		}
	}
}

// twoFiles are files of five and three bytes, with their hashes.
func twoFiles() (files []fileservice.SmallFile, hashes [][]byte) {
	for i, content := range []string{"hello", "you"} {
		version := fileservice.Version{Size: int64(len(content))}
		files = append(files, fileservice.SmallFile{Name: fmt.Sprint("file", i), Version: version})
		hashes = append(hashes, filetest.SumOf([]byte(content), 0, version.Size))
	}
	return files, hashes
}

// TestSmallFilesThatLie has a server give another thing than was asked for. The client takes nothing that does not have
// its hash, and gives up.
func TestSmallFilesThatLie(t *testing.T) {
	files, hashes := twoFiles()
	page := func(data string, results ...*fileservicepb.FileResult) *fileservicepb.ReadFilesResponse {
		return &fileservicepb.ReadFilesResponse{Data: []byte(data), Files: results}
	}
	hello := &fileservicepb.FileResult{Hash: hashes[0]}
	you := &fileservicepb.FileResult{Hash: hashes[1]}
	garbage := &fileservicepb.FileResult{}
	// Field 2, the error, with a truncated varint in it.
	garbage.ProtoReflect().SetUnknown(protoreflect.RawFields("\x12\x02\xff\xff"))
	long := &fileservicepb.FileResult{Error: wireStatus(codes.NotFound, strings.Repeat("x", 300<<10))}
	missing := &fileservicepb.FileResult{Error: wireStatus(codes.NotFound, "")}
	for what, pages := range map[string][]*fileservicepb.ReadFilesResponse{
		"nothing":           {},
		"one file":          {page("hello", hello)},
		"another order":     {page("youhello", you, hello)},
		"other bytes":       {page("jelloyou", hello, you)},
		"no hash":           {page("helloyou", hello, &fileservicepb.FileResult{})},
		"a short hash":      {page("helloyou", hello, &fileservicepb.FileResult{Hash: hashes[1][:31]})},
		"a file too many":   {page("helloyou", hello, you, you)},
		"a page too many":   {page("helloyou", hello, you), page("you", you)},
		"less data":         {page("helloyo", hello, you)},
		"more data":         {page("helloyou!", hello, you)},
		"data of an error":  {page("helloyou", hello, missing)},
		"data and no files": {page("hello"), page("helloyou", hello, you)},
		"a torn file":       {page("hel", hello), page("loyou", you)},
		"a message of 8 MB": {page(strings.Repeat("x", 8<<20), hello, you)},
		"fields of a MB":    {page("helloyou", hello, long)},
		"an error that is none": {
			page("hello", hello, &fileservicepb.FileResult{Error: wireStatus(codes.OK, "fine")}),
		},
		"an error of garbage": {page("hello", hello, garbage)},
	} {
		for _, forever := range []bool{false, true} {
			if forever && len(pages) == 0 {
				pages = []*fileservicepb.ReadFilesResponse{{}}
			}
			address := filetest.LieAt(t, &smallLiar{pages: pages, forever: forever})
			client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
			yield := func(i int, content []byte, _ fileservice.Sum, err error) error {
				if err == nil && string(content) != []string{"hello", "you"}[i] {
					t.Errorf("%s: file %d is %q", what, i, content)
				}
				return nil
			}
			err := client.ReadFiles(t.Context(), ".", files, yield)
			if !errors.Is(err, fileservice.ErrIntegrity) && !errors.Is(err, fileservice.ErrRefused) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

func wireStatus(code codes.Code, text string) *spb.Status {
	return &spb.Status{Code: int32(code), Message: text}
}

func TestSmallWritesThatLie(t *testing.T) {
	files, _ := twoFiles()
	for _, results := range []int{0, 1, 3, 10_000} {
		response := &fileservicepb.WriteFilesResponse{}
		for range results {
			response.Files = append(response.Files, &fileservicepb.FileResult{})
		}
		address := filetest.LieAt(t, &smallLiar{result: response})
		client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
		_, _, err := client.WriteFiles(t.Context(), ".", files, false, func(int, []byte) error { return nil })
		if !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%d results: %v", results, err)
		}
	}
}

// TestSmallUploadsThatLie has clients that break the rules. Nothing is there after it.
func TestSmallUploadsThatLie(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	client := filetest.Raw(t, filetest.Listen(t, dir, filetest.Writable))
	named := func(name string, size int64) *fileservicepb.NewFile {
		return &fileservicepb.NewFile{
			Name: name, Version: &fileservicepb.Version{Size: size}, Hash: filetest.SumOf([]byte("hello"), 0, 5),
		}
	}
	in := func(dir, data string, files ...*fileservicepb.NewFile) *fileservicepb.WriteFilesRequest {
		return &fileservicepb.WriteFilesRequest{Directory: dir, Data: []byte(data), Files: files}
	}
	many := func() (files []*fileservicepb.NewFile) {
		for i := range fileservice.MaxSmallFiles + 1 {
			files = append(files, named(fmt.Sprint(i), 5))
		}
		return files
	}
	type messages = []*fileservicepb.WriteFilesRequest
	for what, c := range map[string]struct {
		want codes.Code
		sent messages
	}{
		"nothing":               {codes.InvalidArgument, nil},
		"another hash":          {codes.DataLoss, messages{in(".", "jello", named("a", 5))}},
		"less data":             {codes.InvalidArgument, messages{in(".", "hell", named("a", 5))}},
		"more data":             {codes.InvalidArgument, messages{in(".", "hello!", named("a", 5))}},
		"a negative size":       {codes.InvalidArgument, messages{in(".", "hello", named("a", -5))}},
		"a large file":          {codes.InvalidArgument, messages{in(".", "hello", named("a", 1<<20))}},
		"a name that leads up":  {codes.InvalidArgument, messages{in(".", "hello", named("..", 5))}},
		"a path":                {codes.InvalidArgument, messages{in(".", "hello", named("link/a", 5))}},
		"an absolute path":      {codes.InvalidArgument, messages{in(".", "hello", named("/a", 5))}},
		"no name":               {codes.InvalidArgument, messages{in(".", "hello", named("", 5))}},
		"a control character":   {codes.InvalidArgument, messages{in(".", "hello", named("a\x1b", 5))}},
		"a directory above":     {codes.InvalidArgument, messages{in("..", "hello", named("a", 5))}},
		"a link to a directory": {codes.InvalidArgument, messages{in("link", "hello", named("a", 5))}},
		"too many files": {codes.InvalidArgument, messages{
			in(".", strings.Repeat("hello", fileservice.MaxSmallFiles+1), many()...),
		}},
		"too many messages": {codes.InvalidArgument, messages{
			in(".", strings.Repeat("hello", fileservice.MaxSmallFiles), many()[1:]...), in("", "hello", named("b", 5)),
		}},
	} {
		if _, err := filetest.WriteSmall(t.Context(), client, c.sent...); status.Code(err) != c.want {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A name of an unfinished file is wrong about itself alone.
	response, err := filetest.WriteSmall(t.Context(), client, in(".", "hello", named("a.culvert.part", 5)))
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
