package bucket

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/minio/crc64nvme"

	"culvert/place"
)

// azureStore is a container of Azure Blob Storage.
type azureStore struct{ client *container.Client }

func openAzure(_ context.Context, a *address, _ Config, connections *connections) (store, error) {
	client, err := azureClient(a, connections)
	if err != nil {
		return nil, err
	}
	return &azureStore{client}, nil
}

// azureClient returns a client with the credentials of the first kind that is configured.
func azureClient(a *address, connections *connections) (*container.Client, error) {
	transport := &http.Client{Transport: bounded{connections.transport()}}
	common := policy.ClientOptions{Transport: transport, Retry: policy.RetryOptions{MaxRetries: -1}} // retry does it
	options := &container.ClientOptions{ClientOptions: common}
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	if a.account != "" {
		account = a.account
	}
	text := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	if text != "" && a.endpoint == nil && a.account == "" {
		client, err := container.NewClientFromConnectionString(text, a.bucket, options)
		if err != nil {
			return nil, errors.New("bucket: AZURE_STORAGE_CONNECTION_STRING is malformed") // the error may contain it
		}
		return client, nil
	}
	if account == "" {
		return nil, errors.New("bucket: the account is unknown: add ?account=NAME or set AZURE_STORAGE_ACCOUNT")
	}
	address := &url.URL{Scheme: "https", Host: account + ".blob.core.windows.net"}
	if a.endpoint != nil {
		address = a.endpoint
	}
	address = address.JoinPath(a.bucket)
	if key != "" {
		credential, err := container.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, errors.New("bucket: AZURE_STORAGE_KEY is malformed")
		}
		return container.NewClientWithSharedKeyCredential(address.String(), credential, options)
	}
	if token := os.Getenv("AZURE_STORAGE_SAS_TOKEN"); token != "" {
		if a.endpoint != nil || a.account != "" && a.account != os.Getenv("AZURE_STORAGE_ACCOUNT") {
			return nil, errors.New("bucket: AZURE_STORAGE_SAS_TOKEN is for the server of AZURE_STORAGE_ACCOUNT")
		}
		address.RawQuery = strings.TrimPrefix(token, "?")
		return container.NewClientWithNoCredential(address.String(), options)
	}
	identity := &azidentity.DefaultAzureCredentialOptions{ClientOptions: common}
	credential, err := azidentity.NewDefaultAzureCredential(identity)
	if err != nil {
		return nil, errors.New("bucket: no credentials for Azure were found: " + innermost(err))
	}
	return container.NewClient(address.String(), &azureCredentials{credential, issuer{scheme: a.scheme}}, options)
}

func (s *azureStore) describe(ctx context.Context, key string, _ bool) (description, error) {
	answer, err := s.client.NewBlobClient(azureName(key)).GetProperties(ctx, nil)
	if err != nil {
		return description{}, err
	}
	if answer.ContentLength == nil || answer.LastModified == nil || answer.ETag == nil {
		return description{}, errIncomplete
	}
	about := description{
		size: *answer.ContentLength, modified: *answer.LastModified, version: unquoted(string(*answer.ETag)),
		metadata: map[string]string{},
	}
	for name, value := range answer.Metadata {
		if value != nil {
			about.metadata[strings.ToLower(name)] = *value
		}
	}
	if sum := answer.ContentMD5; len(sum) > 0 {
		about.sum = func(func(func(context.Context) error) error) (place.Sum, error) {
			return place.Sum{Algorithm: place.MD5, Value: sum}, nil
		}
	}
	return about, nil
}

func (s *azureStore) list(ctx context.Context, request listRequest) (listPage, error) {
	options := container.ListBlobsHierarchyOptions{
		Prefix: new(azureName(request.prefix)), MaxResults: new(int32(request.most)),
	}
	if request.token != "" {
		options.Marker = &request.token
	}
	answer, err := s.client.NewListBlobsHierarchyPager(request.delimiter, &options).NextPage(ctx)
	if err != nil {
		return listPage{}, err
	}
	if answer.Segment == nil {
		return listPage{}, errIncomplete
	}
	var page listPage
	if answer.NextMarker != nil {
		page.next = *answer.NextMarker
	}
	for _, item := range answer.Segment.BlobItems {
		about := item.Properties
		if item.Name == nil || about == nil || about.ContentLength == nil || about.LastModified == nil {
			return listPage{}, errIncomplete
		}
		entry := azureEntry(*item.Name)
		entry.size, entry.modified = *about.ContentLength, *about.LastModified
		if about.ETag != nil {
			entry.version = unquoted(string(*about.ETag))
		}
		page.entries = append(page.entries, entry)
	}
	for _, prefix := range answer.Segment.BlobPrefixes {
		if prefix.Name == nil {
			return listPage{}, errIncomplete
		}
		entry := azureEntry(*prefix.Name)
		entry.isPrefix = true
		page.entries = append(page.entries, entry)
	}
	page.entries = inOrder(page.entries)
	return page, nil
}

// azureEntry returns an entry with the key that a name on Azure belongs to, if there is one: other tools write some
// characters that azureName escapes.
func azureEntry(name string) listEntry {
	if key := keyOfAzure(name); azureName(key) == name {
		return listEntry{key: key}
	}
	return listEntry{key: name, foreign: true}
}

func (s *azureStore) read(ctx context.Context, key, version string, off, n int64) (rangeAnswer, error) {
	response, err := s.client.NewBlobClient(azureName(key)).DownloadStream(ctx, &azblob.DownloadStreamOptions{
		Range: azblob.HTTPRange{Offset: off, Count: n}, AccessConditions: azureVersion(version),
	})
	if err != nil {
		return rangeAnswer{}, err
	}
	answer := rangeAnswer{body: response.Body}
	if response.ETag != nil {
		answer.version = unquoted(string(*response.ETag))
	}
	if response.ContentRange != nil {
		answer.contentRange = *response.ContentRange
	}
	return answer, nil
}

func (s *azureStore) remove(ctx context.Context, key, version string) error {
	options := &azblob.DeleteOptions{}
	if version != "" {
		options.AccessConditions = azureVersion(version)
	}
	_, err := s.client.NewBlobClient(azureName(key)).Delete(ctx, options)
	return err
}

// azureVersion is the condition that an object has a version.
func azureVersion(version string) *azblob.AccessConditions {
	return &azblob.AccessConditions{
		ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: new(azcore.ETag(quoted(version)))},
	}
}

// azureName returns the name of an object on Azure: its key, in which some characters, which gocloud.dev/blob found
// Azure not to handle, are written as that library does it, so that both find the same objects.
func azureName(key string) string { return azureEscapes.Replace(key) }

// keyOfAzure is the reverse of azureName.
func keyOfAzure(name string) string { return azureUnescapes.Replace(name) }

var (
	azureEscapes = strings.NewReplacer(`"`, "__0x22__", "#", "__0x23__", "%", "__0x25__", "?", "__0x3f__",
		"\x7f", "__0x7f__")
	azureUnescapes = strings.NewReplacer("__0x22__", `"`, "__0x23__", "#", "__0x25__", "%", "__0x3f__", "?",
		"__0x7f__", "\x7f")
)

func (s *azureStore) upload(key string, create bool, metadata map[string]string) upload {
	u := &azureUpload{client: s.client.NewBlockBlobClient(azureName(key)), facts: metadata}
	if create {
		u.conditions = &azblob.AccessConditions{
			ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfNoneMatch: new(azcore.ETagAny)},
		}
	}
	return u
}

// azureUpload writes one object. Its blocks have names that begin with the mark, so that those of another writer of the
// same key are never taken for them.
type azureUpload struct {
	client     *blockblob.Client
	conditions *azblob.AccessConditions
	facts      map[string]string // metadata of the object

	parts int          // of the object
	sums  atomic.Int64 // of how many requests with data the store has returned the checksum
}

func (u *azureUpload) metadata() map[string]*string {
	metadata := map[string]*string{}
	for key, value := range u.facts {
		metadata[key] = &value
	}
	return metadata
}

func (u *azureUpload) headers() *azblob.HTTPHeaders {
	return &azblob.HTTPHeaders{BlobContentType: new(contentType)}
}

func (u *azureUpload) put(ctx context.Context, data []byte) error {
	sum := crc64nvme.Checksum(data)
	response, err := u.client.Upload(ctx, streaming.NopCloser(bytes.NewReader(data)), &blockblob.UploadOptions{
		Metadata: u.metadata(), HTTPHeaders: u.headers(), AccessConditions: u.conditions,
		TransactionalValidation: azblob.TransferValidationTypeCRC64(sum),
	})
	if err != nil {
		return err
	}
	return u.compare(sum, response.ContentCRC64)
}

// compare compares the checksum that the store returns, if it does, with the one that it was sent.
func (u *azureUpload) compare(sent uint64, returned []byte) error {
	switch {
	case len(returned) != 8:
		return nil
	case binary.LittleEndian.Uint64(returned) != sent:
		return fmt.Errorf("%w: the store has another checksum", place.ErrIntegrity)
	}
	u.sums.Add(1)
	return nil
}

// isWhole reports whether the store has returned the checksum of the object, which it has if it came in one request.
func (u *azureUpload) isWhole() bool { return u.parts == 0 && u.sums.Load() > 0 }

// isVerified reports whether the store has returned the checksum of each block, or of all.
func (u *azureUpload) isVerified() bool { return u.sums.Load() >= int64(max(1, u.parts)) }

func (u *azureUpload) begin(context.Context) error { return nil }

func (u *azureUpload) inOrder() bool { return false }

func (u *azureUpload) blockName(number int) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32([]byte(u.facts[markKey]), uint32(number)))
}

func (u *azureUpload) part(ctx context.Context, number int, data []byte) error {
	body := streaming.NopCloser(bytes.NewReader(data))
	sum := crc64nvme.Checksum(data)
	response, err := u.client.StageBlock(ctx, u.blockName(number), body, &blockblob.StageBlockOptions{
		TransactionalValidation: azblob.TransferValidationTypeCRC64(sum),
	})
	if err == nil {
		err = u.compare(sum, response.ContentCRC64)
	}
	if err != nil {
		return fmt.Errorf("block %d: %w", number, err)
	}
	return nil
}

func (u *azureUpload) complete(ctx context.Context, parts int) error {
	u.parts = parts
	names := make([]string, parts)
	for i := range names {
		names[i] = u.blockName(i + 1)
	}
	_, err := u.client.CommitBlockList(ctx, names, &blockblob.CommitBlockListOptions{
		Metadata: u.metadata(), HTTPHeaders: u.headers(), AccessConditions: u.conditions,
	})
	return err
}

// abort does nothing: Azure has no request for it, and forgets blocks after a week that belong to no object.
func (u *azureUpload) abort(context.Context) error { return nil }
