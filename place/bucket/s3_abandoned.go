package bucket

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// removeAbandoned aborts the uploads of the same key that nobody has continued since a time of the store's clock. It is
// no failure of this upload if the credentials do not allow that, or if the store cannot list uploads.
func (u *s3Upload) removeAbandoned(ctx context.Context, before time.Time) {
	pages := s3.NewListMultipartUploadsPaginator(u.store.client, &s3.ListMultipartUploadsInput{
		Bucket: &u.store.name, Prefix: u.key,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return
		}
		for _, other := range page.Uploads {
			if aws.ToString(other.Key) != *u.key {
				return // the keys are sorted, and the shortest with this prefix is the key itself
			}
			if aws.ToString(other.UploadId) == *u.id || other.Initiated == nil || !other.Initiated.Before(before) {
				continue
			}
			if last, err := u.lastPart(ctx, other.UploadId); err != nil || !last.Before(before) {
				continue
			}
			if u.store.abort(ctx, u.key, other.UploadId) != nil {
				return
			}
		}
	}
}

// lastPart returns when an upload received its last part.
func (u *s3Upload) lastPart(ctx context.Context, id *string) (last time.Time, err error) {
	pages := s3.NewListPartsPaginator(u.store.client, &s3.ListPartsInput{
		Bucket: &u.store.name, Key: u.key, UploadId: id,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return last, err
		}
		if aws.ToBool(page.IsTruncated) && !pages.HasMorePages() {
			return last, errIncomplete
		}
		for _, part := range page.Parts {
			if part.LastModified == nil {
				return last, errIncomplete
			}
			if part.LastModified.After(last) {
				last = *part.LastModified
			}
		}
	}
	return last, nil
}
