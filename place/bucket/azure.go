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
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"culvert/place"
)

// azureStore is a container of Azure Blob Storage. Objects are written with the vendor's client, so that blocks can
// grow.
type azureStore struct {
	client *container.Client
	bucket *blob.Bucket
}

func openAzure(ctx context.Context, a *address, _ Config, connections *connections) (store, error) {
	client, err := azureClient(a, connections)
	if err != nil {
		return nil, err
	}
	blobs, err := azureblob.OpenBucket(ctx, client, nil)
	if err != nil {
		return nil, err
	}
	return &azureStore{client, blobs}, nil
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

func (s *azureStore) blobs() *blob.Bucket { return s.bucket }

func (s *azureStore) version(a *blob.Attributes) string { return unquoted(a.ETag) }

func (s *azureStore) listed(o *blob.ListObject) string {
	var item container.BlobItem
	if !o.As(&item) || item.Properties == nil || item.Properties.ETag == nil {
		return ""
	}
	return unquoted(string(*item.Properties.ETag))
}

func (s *azureStore) pin(version string, as func(any) bool) error {
	var options *azblob.DownloadStreamOptions
	if !as(&options) {
		return errors.ErrUnsupported
	}
	options.AccessConditions = &azblob.AccessConditions{
		ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: new(azcore.ETag(quoted(version)))},
	}
	return nil
}

func (s *azureStore) check(r *blob.Reader, version string, off, n int64) error {
	var response azblob.DownloadStreamResponse
	if !r.As(&response) {
		return errors.ErrUnsupported
	}
	var sent, contentRange string
	if response.ETag != nil {
		sent = string(*response.ETag)
	}
	if response.ContentRange != nil {
		contentRange = *response.ContentRange
	}
	return checkRange(sent, version, contentRange, off, n)
}

func (s *azureStore) remove(ctx context.Context, key, version string) error {
	_, err := s.client.NewBlobClient(escapedForAzure(key)).Delete(ctx, &azblob.DeleteOptions{
		AccessConditions: &azblob.AccessConditions{
			ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: new(azcore.ETag(quoted(version)))},
		},
	})
	return err
}

func escapedForAzure(key string) string { return escaped(key, "\"#%?\x7f") }

func (s *azureStore) upload(key string, create bool, metadata map[string]string) upload {
	u := &azureUpload{client: s.client.NewBlockBlobClient(escapedForAzure(key)), facts: metadata}
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
