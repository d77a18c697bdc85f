package bucket_test

import (
	"strings"
	"testing"

	"culvert/place/bucket"
)

// TestURLsRefused wants every URL refused, and nothing of what may be secret in the error.
func TestURLsRefused(t *testing.T) {
	for url, want := range map[string]string{
		"":                                    "begins with none of",
		"http://bucket/x":                     "begins with none of",
		"s3:bucket":                           "cannot be parsed",
		"s3:///x":                             "form s3://bucket/prefix",
		"s3://hush:hush@bucket/x":             "AWS_ACCESS_KEY_ID",
		"s3://hush:hush/hush@bucket":          "AWS_ACCESS_KEY_ID",
		"s3://bucket/?access_key_id=hush":     "AWS_ACCESS_KEY_ID",
		"s3://bucket/?X-Amz-Signature=hush":   "AWS_ACCESS_KEY_ID",
		"s3://bucket/?sessionToken=hush":      "AWS_ACCESS_KEY_ID",
		"s3://bucket/?profile=hush":           "AWS_ACCESS_KEY_ID",
		"s3://bucket/?colour=hush":            "region endpoint path_style",
		"s3://bucket/?region=a&region=b":      "twice",
		"s3://bucket/?%zz=hush":               "query of the URL",
		"s3://bucket/a//b?region=x":           "element that is empty",
		"s3://bucket/../b?region=x":           "element that is empty",
		"s3://bucket/a#b":                     "%23",
		"s3://bucket/?endpoint=localhost":     "http://host:port",
		"s3://bucket/?endpoint=ftp://a":       "http://host:port",
		"s3://bucket/?path_style=perhaps":     "neither true nor false",
		"s3://b/?endpoint=http://hush:h@a":    "AWS_ACCESS_KEY_ID",
		"s3://b/?endpoint=http://a%3Ftoken=h": "AWS_ACCESS_KEY_ID",
		"gs://bucket/?access_token=hush":      "GOOGLE_APPLICATION_CREDENTIALS",
		"azblob://c/?account=a&sig=hush":      "AZURE_STORAGE_KEY",
		"azblob://c/?account=a&sp=r&se=2030":  "AZURE_STORAGE_KEY",
		"file://host/x":                       "three slashes",
		"file:///tmp?x=y":                     "unknown parameter",
	} {
		_, err := bucket.Open(t.Context(), url, bucket.Config{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error is %v; want %q in it", url, err, want)
		}
	}
}

func TestConfigRefused(t *testing.T) {
	for _, config := range []bucket.Config{
		{Timeout: -1}, {Parallel: -1}, {Abandoned: -1}, {PartSize: 1}, {PartSize: 5 << 40},
	} {
		if _, err := bucket.Open(t.Context(), "file:///tmp", config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
