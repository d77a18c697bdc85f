package bucket

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// parameters lists what the URL of each kind of place may have in its query.
var parameters = map[string][]string{
	"s3":     {"region", "endpoint", "path_style"},
	"gs":     {"endpoint"},
	"azblob": {"account", "endpoint"},
	"file":   nil,
}

// credentialSources says where credentials are found instead.
var credentialSources = map[string]string{
	"s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/config and ~/.aws/credentials (AWS_PROFILE), " +
		"SSO, web identity, or the role of the instance",
	"gs": "GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, workload identity, or the instance",
	"azblob": "AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or " +
		"AZURE_STORAGE_SAS_TOKEN, AZURE_CLIENT_ID and the like, workload or managed identity, or az login",
}

// address is a parsed URL of a place.
type address struct {
	scheme   string
	bucket   string // or a directory
	prefix   string // "" or ends with a slash
	region   string
	account  string
	endpoint *url.URL // nil for the vendor's

	// pathStyle puts the bucket into the path of requests, not into the name of the host. If it is nil, the vendor's
	// servers decide.
	pathStyle *bool
}

// parse returns the parts of a URL. Its errors contain nothing of the URL that may be a secret.
func parse(text string) (*address, error) {
	scheme, _, _ := strings.Cut(text, ":")
	allowed, known := parameters[scheme]
	if !known {
		return nil, errors.New("bucket: the URL begins with none of s3://, gs://, azblob:// and file:///")
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		// The error would contain the URL.
		return nil, fmt.Errorf("bucket: the %s URL cannot be parsed; if it contains credentials: %w",
			scheme, noCredentials(scheme))
	}
	if u.User != nil {
		return nil, fmt.Errorf("bucket: the URL contains a user name: %w", noCredentials(scheme))
	}
	if u.Fragment != "" || strings.Contains(text, "#") {
		return nil, errors.New("bucket: the URL contains a #; write %23 in a name")
	}
	a := &address{scheme: scheme, bucket: u.Host}
	if err := a.readQuery(u.RawQuery, allowed); err != nil {
		return nil, err
	}
	if scheme == "file" {
		if u.Host != "" || u.Path == "" {
			return nil, errors.New("bucket: a file URL is file:///directory, with three slashes")
		}
		a.bucket = u.Path
		return a, nil
	}
	if u.Host == "" || strings.Contains(u.Host, ":") {
		return nil, fmt.Errorf("bucket: the URL is not of the form %s://bucket/prefix", scheme)
	}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		if !fs.ValidPath(prefix) {
			return nil, errors.New("bucket: the prefix of the URL has an element that is empty, or a dot or two")
		}
		a.prefix = prefix + "/"
	}
	return a, nil
}

// CheckURL returns an error if a URL is not one that Open accepts. The error contains nothing of the URL that may be a
// secret.
func CheckURL(text string) error {
	_, err := parse(text)
	return err
}

func noCredentials(scheme string) error {
	sources := credentialSources[scheme]
	if sources == "" {
		return errors.New("a directory needs no credentials")
	}
	return fmt.Errorf("credentials are not taken from the URL, but from the usual places: %s", sources)
}

func (a *address) readQuery(query string, allowed []string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("bucket: the query of the URL cannot be parsed") // the error would contain a part of it
	}
	for name, texts := range values {
		switch {
		case !slices.Contains(allowed, name) && isCredential(name):
			return fmt.Errorf("bucket: the URL contains a credential: %w", noCredentials(a.scheme))
		case !slices.Contains(allowed, name):
			return fmt.Errorf("bucket: the URL has an unknown parameter; those of %s are: %s",
				a.scheme, strings.Join(allowed, " "))
		case len(texts) > 1:
			return fmt.Errorf("bucket: the URL has the parameter %s twice", name)
		}
	}
	a.region, a.account = values.Get("region"), values.Get("account")
	if text := values.Get("endpoint"); text != "" {
		if a.endpoint, err = parseEndpoint(a.scheme, text); err != nil {
			return err
		}
	}
	if text := values.Get("path_style"); text != "" {
		pathStyle, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("bucket: the parameter path_style of the URL is neither true nor false")
		}
		a.pathStyle = &pathStyle
	}
	return nil
}

func parseEndpoint(scheme, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https", u.Fragment != "":
		return nil, errors.New("bucket: the endpoint is not of the form http://host:port or https://host:port")
	case u.User != nil, u.RawQuery != "":
		return nil, fmt.Errorf("bucket: the endpoint contains a user name or a query: %w", noCredentials(scheme))
	}
	return u, nil
}

// isCredential reports whether a parameter of a query is one of those with which requests are signed, or looks like it.
func isCredential(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains([]string{"sig", "se", "sp", "sv", "sr", "st", "spr", "skoid", "user", "profile"}, name) {
		return true
	}
	return slices.ContainsFunc([]string{
		"key", "secret", "token", "pass", "credential", "signature", "sas", "x-amz", "x-goog", "access", "auth",
	}, func(part string) bool { return strings.Contains(name, part) })
}
