package stores

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Client returns a client of a server of S3. Its connections are those of http.DefaultClient.
func (s *Server) Client(tb testing.TB) *s3.Client {
	tb.Helper()
	configuration, err := config.LoadDefaultConfig(tb.Context(), config.WithRegion("us-east-1"))
	if err != nil {
		tb.Fatal(err)
	}
	return s3.NewFromConfig(configuration, func(o *s3.Options) {
		o.UsePathStyle, o.BaseEndpoint = true, aws.String("http://"+s.Address)
		o.HTTPClient = http.DefaultClient
	})
}

// Unfinished returns the keys of the unfinished uploads of a server of S3 that contain a text.
func (s *Server) Unfinished(tb testing.TB, part string) (keys []string) {
	tb.Helper()
	input := &s3.ListMultipartUploadsInput{Bucket: aws.String(Bucket)}
	pages := s3.NewListMultipartUploadsPaginator(s.Client(tb), input) // of all tests that use the bucket
	for pages.HasMorePages() {
		page, err := pages.NextPage(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		for _, upload := range page.Uploads {
			if strings.Contains(*upload.Key, part) {
				keys = append(keys, *upload.Key)
			}
		}
	}
	return keys
}
