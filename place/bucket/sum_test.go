package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"culvert/fileservice/transfer"
	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// wantSum compares the checksum of a file with its content.
func wantSum(t *testing.T, p place.Place, name string, want place.Algorithm, parts []int64, data []byte) {
	t.Helper()
	f, err := p.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := place.SumOf(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if sum.Algorithm != want || !slices.Equal(sum.Parts, parts) {
		t.Errorf("%s has a checksum %s of %v; want %s of %v", name, sum.Algorithm, sum.Parts, want, parts)
		return
	}
	if want == "" {
		return
	}
	hash := want.New()
	var sums []byte
	for _, size := range parts {
		hash.Reset()
		_, _ = hash.Write(data[:size]) // never fails
		sums, data = hash.Sum(sums), data[size:]
	}
	if parts != nil {
		data = sums
	}
	hash.Reset()
	_, _ = hash.Write(data) // never fails
	if !bytes.Equal(hash.Sum(nil), sum.Value) {
		t.Errorf("%s has another checksum %s", name, want)
	}
}

// TestSums reads the checksums of what this package has written. Azure keeps none of blocks, and its emulator returns
// none of an object.
func TestSums(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			b := open(t, store.URL(t), small)
			for name, data := range map[string][]byte{"large": large, "small": large[:100], "empty": nil} {
				isLarge := name == "large"
				f, err := b.Create(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write(data); err != nil || place.IsVerified(f) {
					t.Fatalf("%v, verified before Commit: %v", err, place.IsVerified(f))
				}
				if err := f.Commit(); err != nil || place.IsVerified(f) != (store.Name != "azurite" || isLarge) {
					t.Errorf("%s: %v, verified: %v", name, err, place.IsVerified(f))
				}
				algorithm := place.CRC64NVME
				switch {
				case store.Name == "fake-gcs-server":
					algorithm = place.CRC32C
				case store.Name == "azurite" && !isLarge:
					algorithm = place.MD5
				case store.Name == "azurite":
					algorithm = ""
				}
				wantSum(t, b, name, algorithm, nil, data)
			}
		})
	}
}

// TestSumsOfOthers reads the checksums of what another client has written.
func TestSumsOfOthers(t *testing.T) {
	for _, store := range stores.S3(t) {
		t.Run(store.Name, func(t *testing.T) {
			client := vendorClient(t, store)
			b := open(t, store.At(prefixOf(t), store.Address), small)
			for _, algorithm := range []types.ChecksumAlgorithm{
				types.ChecksumAlgorithmCrc64nvme, types.ChecksumAlgorithmCrc32c, types.ChecksumAlgorithmCrc32,
				types.ChecksumAlgorithmSha256,
			} {
				want := map[types.ChecksumAlgorithm]place.Algorithm{
					types.ChecksumAlgorithmCrc64nvme: place.CRC64NVME, types.ChecksumAlgorithmCrc32c: place.CRC32C,
					types.ChecksumAlgorithmCrc32: place.CRC32, types.ChecksumAlgorithmSha256: place.SHA256,
				}[algorithm]
				whole, inParts, odd := "whole"+string(algorithm), "parts"+string(algorithm), "odd"+string(algorithm)
				_, err := client.PutObject(t.Context(), &s3.PutObjectInput{
					Bucket: aws.String(stores.Bucket), Key: aws.String(prefixOf(t) + "/" + whole),
					Body: bytes.NewReader(large), ChecksumAlgorithm: algorithm,
				})
				if err != nil {
					t.Fatal(err)
				}
				wantSum(t, b, whole, want, nil, large)
				parts := []int64{6 << 20, 6<<20 + 5}
				uploadParts(t, client, prefixOf(t)+"/"+inParts, algorithm, parts)
				oddParts := []int64{5 << 20, 6 << 20, 1<<20 + 5}
				uploadParts(t, client, prefixOf(t)+"/"+odd, algorithm, oddParts)
				if algorithm == types.ChecksumAlgorithmCrc64nvme {
					parts, oddParts = nil, nil
				}
				wantSum(t, b, odd, want, oddParts, large)
				wantSum(t, b, inParts, want, parts, large)
			}
		})
	}
}

// uploadParts writes the object large in parts of these sizes.
func uploadParts(t *testing.T, client *s3.Client, key string, algorithm types.ChecksumAlgorithm, sizes []int64) {
	t.Helper()
	name := aws.String(stores.Bucket)
	upload, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{
		Bucket: name, Key: &key, ChecksumAlgorithm: algorithm,
	})
	if err != nil {
		t.Fatal(err)
	}
	var parts []types.CompletedPart
	rest := large
	for i, size := range sizes {
		number := aws.Int32(int32(i + 1))
		part, err := client.UploadPart(t.Context(), &s3.UploadPartInput{
			Bucket: name, Key: &key, UploadId: upload.UploadId, PartNumber: number,
			Body: bytes.NewReader(rest[:size]), ChecksumAlgorithm: algorithm,
		})
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[size:]
		parts = append(parts, types.CompletedPart{
			ETag: part.ETag, PartNumber: number, ChecksumCRC32: part.ChecksumCRC32, ChecksumCRC32C: part.ChecksumCRC32C,
			ChecksumCRC64NVME: part.ChecksumCRC64NVME, ChecksumSHA256: part.ChecksumSHA256,
		})
	}
	_, err = client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
		Bucket: name, Key: &key, UploadId: upload.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func vendorClient(t *testing.T, store *stores.Server) *s3.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	configuration, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	return s3.NewFromConfig(configuration, func(o *s3.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		o.BaseEndpoint, o.UsePathStyle = aws.String("http://"+store.Address), true
	})
}

// pull copies all files of a place to a directory.
func pull(ctx context.Context, t *testing.T, from place.Place, target string) (transfer.Result, error) {
	t.Helper()
	root, err := os.OpenRoot(target)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}()
	return transfer.Pull(ctx, from, transfer.Config{Remote: ".", Root: root, Local: "."})
}

// flip changes a byte of an answer.
func flip(r *http.Response) {
	data, err := io.ReadAll(r.Body)
	if err == nil && len(data) > 0 {
		data[len(data)/2] ^= 1
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
}

// TestCorruptAnswer changes a byte of what a store sends. A file without a checksum is not said to be verified.
func TestCorruptAnswer(t *testing.T) {
	for _, name := range []string{"large", "middle", "small"} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				sizes := map[string]int{"large": len(large), "middle": 100_000, "small": 100}
				mustWrite(t, direct, name, large[:sizes[name]])
				p.Set(stores.Once(stores.Range.Of, stores.Fault{Answer: flip}))
				target := t.TempDir()
				result, err := pull(t.Context(), t, through, target)
				if !errors.Is(err, place.ErrIntegrity) || result.Verified != 0 {
					t.Errorf("%+v, %v", result, err)
				}
				if left, err := os.ReadDir(target); err != nil || len(left) != 0 {
					t.Errorf("%v is left, %v", left, err)
				}
				p.Set(nil)
				result, err = pull(t.Context(), t, through, target)
				if err != nil || result.Verified != 1 {
					t.Errorf("%+v, %v", result, err)
				}
				p.Set(stores.Always(stores.Head.Of, stores.Fault{Answer: withoutSums}))
				result, err = pull(t.Context(), t, through, t.TempDir())
				if err != nil || result.Files != 1 || result.Verified != 0 {
					t.Errorf("without checksums: %+v, %v", result, err)
				}
			})
		})
	}
}

func withoutSums(r *http.Response) {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Checksum") {
			r.Header.Del(name)
		}
	}
}

// TestUnknownParts reads the checksum of checksums from a store that does not tell the sizes of all parts, or wrong
// ones. It is not guessed what was summed.
func TestUnknownParts(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		sizes := []int64{5 << 20, 6 << 20, 1<<20 + 5}
		uploadParts(t, vendorClient(t, p.Store), prefixOf(t)+"/file", types.ChecksumAlgorithmSha256, sizes)
		wantSum(t, through, "file", place.SHA256, sizes, large)
		for _, part := range []string{"1", "2"} {
			ofPart := func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == part }
			for name, f := range map[string]stores.Fault{
				"refused": {Status: http.StatusNotImplemented},
				"whole":   {Answer: withLength(len(large))},
				"empty":   {Answer: withLength(0)},
			} {
				p.Set(stores.Always(ofPart, f))
				wantSum(t, through, "file", "", nil, nil)
				if result, err := pull(t.Context(), t, through, t.TempDir()); err != nil || result.Verified != 0 {
					t.Errorf("part %s is %s: %+v, %v", part, name, result, err)
				}
			}
			p.Set(stores.Once(ofPart, stores.Fault{Status: http.StatusServiceUnavailable}))
			wantSum(t, through, "file", place.SHA256, sizes, large)
		}
	})
}

func withLength(n int) func(*http.Response) {
	return func(r *http.Response) {
		r.ContentLength = int64(n)
		r.Header.Set("Content-Length", fmt.Sprint(n))
	}
}

// TestSumChanged replaces an object between the request for its checksum and that for the sizes of its parts.
func TestSumChanged(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		uploadParts(t, vendorClient(t, p.Store), prefixOf(t)+"/file", types.ChecksumAlgorithmSha256,
			[]int64{5 << 20, 6 << 20, 1<<20 + 5})
		f, err := through.Open("file")
		if err != nil {
			t.Fatal(err)
		}
		replaced, err := direct.Replace(t.Context(), "file")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(replaced, "another"); err != nil {
			t.Fatal(err)
		}
		if err := replaced.Commit(); err != nil {
			t.Fatal(err)
		}
		_, err = place.SumOf(f)
		wantError(t, err, place.ErrChanged, "file")
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}
