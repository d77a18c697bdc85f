package receive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"culvert/fileservice"
	"culvert/internal/publish"
)

// TestReceiveSmall has small files come into directories in which there is nothing, others, so many of them that not
// all are looked at, and what an earlier transfer of the file has left.
func TestReceiveSmall(t *testing.T) {
	const part, journal = "file" + fileservice.PartSuffix, "file" + fileservice.JournalSuffix
	for _, c := range []struct {
		others int
		left   string // by an earlier transfer
	}{
		{0, ""}, {1, ""}, {0, part}, {0, journal}, {1, part}, {1, journal}, {firstNames, ""}, {firstNames, part},
	} {
		t.Run(fmt.Sprintf("others=%d,left=%s", c.others, c.left), func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			root := openTestRoot(t, path)
			want := []string{"file"}
			for i := range c.others {
				want = append(want, fmt.Sprint("other", i))
				if err := root.WriteFile(want[i+1], nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			switch c.left {
			case part:
				err = root.WriteFile(part, []byte("of another version"), 0o600)
			case journal:
				err = root.Mkdir(journal, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
			s := newSample(1000)
			if err := receiveOneSmall(t, root, s, "file"); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(path, "file")); err != nil || !bytes.Equal(got, s.content) {
				t.Errorf("not what was sent: %v", err)
			}
			seeOnly(t, path, want...)
			if err := receiveOneSmall(t, root, s, "file"); !errors.Is(err, os.ErrExist) {
				t.Errorf("%v for a file that is there", err)
			}
			if err := receiveOneSmall(t, root, s, part); !errors.Is(err, fileservice.ErrReserved) {
				t.Errorf("%v for a reserved name", err)
			}
			seeOnly(t, path, want...)
		})
	}
}

func receiveOneSmall(t *testing.T, root *os.Root, s sample, name string) error {
	t.Helper()
	dir, err := publish.OpenDir(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	publisher := publisherIn(t, root)
	small := NewSmall(dir, ".", publisher, func(local string, version fileservice.Version) (*File, error) {
		return Open(root, publisher, local, version, false)
	})
	file := &fileservice.SmallFile{Name: name, Version: s.version, Permissions: 0o600}
	small.Add(file, s.content, fileservice.SumFile(s.content))
	errs := small.Publish(nil)
	return errors.Join(append(errs, small.Close())...)
}
