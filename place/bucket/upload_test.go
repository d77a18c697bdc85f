package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// uploads returns the keys of the unfinished uploads in the bucket of a server that contain a text.
func uploads(t *testing.T, store *stores.Server, part string) (keys []string) {
	t.Helper()
	configuration, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(configuration, func(o *s3.Options) {
		o.UsePathStyle, o.BaseEndpoint = true, aws.String("http://"+store.Address)
		o.HTTPClient = http.DefaultClient
	})
	input := &s3.ListMultipartUploadsInput{Bucket: aws.String(stores.Bucket)}
	page, err := client.ListMultipartUploads(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	for _, upload := range page.Uploads {
		if strings.Contains(*upload.Key, part) {
			keys = append(keys, *upload.Key)
		}
	}
	return keys
}

// wantNoUploads wants none below the prefix of the running test.
func wantNoUploads(t *testing.T, store *stores.Server) {
	t.Helper()
	if left := uploads(t, store, prefixOf(t)); len(left) > 0 {
		t.Errorf("there are unfinished uploads: %q", left)
	}
}

func prefixOf(t *testing.T) string { return strings.ReplaceAll(t.Name(), "/", "-") }

func TestAborted(t *testing.T) {
	for _, store := range stores.S3(t) {
		for name, end := range map[string]func(context.CancelFunc, place.File) error{
			"Discard": func(_ context.CancelFunc, f place.File) error { return f.Discard() },
			"Cancel": func(cancel context.CancelFunc, f place.File) error {
				cancel()
				if err := f.Commit(); !errors.Is(err, context.Canceled) {
					return fmt.Errorf("Commit returns %w", err)
				}
				return nil
			},
			// The writer hangs, and calls nothing any more.
			"Hangs": func(cancel context.CancelFunc, _ place.File) error { cancel(); return nil },
		} {
			t.Run(store.Name+name, func(t *testing.T) {
				b := open(t, store.At(prefixOf(t), store.Address), small)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f, err := b.Create(ctx, "file")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write(large); err != nil {
					t.Fatal(err)
				}
				if len(uploads(t, store, prefixOf(t))) != 1 {
					t.Error("there is no upload of several parts")
				}
				if err := end(cancel, f); err != nil {
					t.Error(err)
				}
				if name == "Hangs" {
					testkit.WaitFor(t, "the end of the upload", func() bool {
						return len(uploads(t, store, prefixOf(t))) == 0
					})
					// It may have to be aborted more than once: Discard waits for that.
					if err := f.Discard(); err != nil {
						t.Error(err)
					}
				}
				wantNoUploads(t, store)
				wantNone(t, b, "file")
			})
		}
	}
}

const killedURL = "CULVERT_TEST_KILLED_URL"

// TestMain is also the writer that TestKilled kills.
func TestMain(m *testing.M) {
	if url := os.Getenv(killedURL); url != "" {
		if err := writeForever(url, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	verifyLeaks(m)
}

// writeForever writes a file of five parts, and prints how much it has written. It waits before Commit.
func writeForever(url string, out io.Writer) error {
	b, err := bucket.Open(context.Background(), url, small)
	if err != nil {
		return err
	}
	f, err := b.Create(context.Background(), "file")
	if err != nil {
		return err
	}
	piece := make([]byte, 1<<20)
	for i := range 26 {
		if _, err := fmt.Fprintln(out, i); err != nil {
			return err
		}
		if _, err := f.Write(piece); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, "written"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, f.Commit())
}

// TestKilled kills a writer at several points. There is no object after it, and the next writer removes what it left.
func TestKilled(t *testing.T) {
	for _, store := range stores.All(t) {
		for _, point := range []string{"0", "6", "16", "written"} {
			t.Run(store.Name+"-"+point, func(t *testing.T) {
				url := store.At(prefixOf(t), store.Address)
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), killedURL+"="+url)
				_, stdout := testkit.StartPiped(t, cmd)
				for line := ""; line != point; {
					if _, err := fmt.Fscanln(stdout, &line); err != nil {
						t.Fatal(err, line)
					}
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // it was killed

				b := open(t, url, small)
				wantNone(t, b, "file")
				if store.IsS3() && point == "written" && len(uploads(t, store, prefixOf(t))) != 1 {
					t.Error("nothing is left of the upload: the next part of the test tests nothing")
				}
				mustWrite(t, b, "file", large) // what is left is too young
				wantContent(t, b, "file", large)
				if !store.IsS3() {
					return
				}
				eager := small
				eager.Abandoned = 1
				mustWrite(t, open(t, url, eager), "file2", large)
				if err := b.Remove(t.Context(), "file"); err != nil {
					t.Fatal(err)
				}
				if point == "written" && len(uploads(t, store, prefixOf(t))) != 1 {
					t.Error("an upload of another key, or a young one, was removed")
				}
				mustWrite(t, open(t, url, eager), "file", large)
				wantNoUploads(t, store)
			})
		}
	}
}
