package bucket

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// unfinished is what the store has told of the unfinished uploads of the place. One request tells of those of many
// keys, so that not each file needs one of its own.
type unfinished struct {
	turn  chan struct{} // holds an item while a goroutine looks at the rest
	asked time.Time     // by the clock of the store, or up to a second before; zero if it has not answered

	// uploads are those that it has told of, by key. It is nil if each key has to be asked for.
	uploads map[string][]types.MultipartUpload
}

// removeAbandoned aborts the uploads of the same key that nobody has continued for Config.Abandoned. Now is the time of
// the store's clock, or up to a second before. It is no failure of this upload if the credentials do not allow that, or
// if the store cannot list uploads.
func (u *s3Upload) removeAbandoned(ctx context.Context, now time.Time) {
	before := now.Add(time.Second - u.store.abandoned)
	others, err := u.others(ctx, now, before)
	if err != nil {
		return
	}
	for _, other := range others {
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

// others returns the unfinished uploads of the key: at least those that were begun before a time. The store is asked
// again only if that is later than the last time that it was asked.
func (u *s3Upload) others(ctx context.Context, now, before time.Time) ([]types.MultipartUpload, error) {
	known := &u.store.unfinished
	select {
	case known.turn <- struct{}{}:
		defer func() { <-known.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if before.After(known.asked) {
		uploads, err := u.askAll(ctx)
		if err != nil {
			return nil, err
		}
		known.asked, known.uploads = now, uploads
	}
	if known.uploads == nil {
		return u.ask(ctx)
	}
	return known.uploads[*u.key], nil
}

// askAll asks for the uploads of all keys of the place. It returns nil if there are more than fit into an answer, or if
// the store tells only those of a key that it is given in full, as MinIO does: then this upload is missing.
func (u *s3Upload) askAll(ctx context.Context) (map[string][]types.MultipartUpload, error) {
	answer, err := u.store.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{
		Bucket: &u.store.name, Prefix: &u.store.prefix,
	})
	if err != nil || aws.ToBool(answer.IsTruncated) {
		return nil, err
	}
	uploads := map[string][]types.MultipartUpload{}
	for _, one := range answer.Uploads {
		key := aws.ToString(one.Key)
		uploads[key] = append(uploads[key], one)
	}
	isMine := func(one types.MultipartUpload) bool { return aws.ToString(one.UploadId) == *u.id }
	if !slices.ContainsFunc(uploads[*u.key], isMine) {
		return nil, nil
	}
	return uploads, nil
}

// ask asks for the uploads of the key alone.
func (u *s3Upload) ask(ctx context.Context) (uploads []types.MultipartUpload, err error) {
	pages := s3.NewListMultipartUploadsPaginator(u.store.client, &s3.ListMultipartUploadsInput{
		Bucket: &u.store.name, Prefix: u.key,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return uploads, err
		}
		for _, one := range page.Uploads {
			if aws.ToString(one.Key) != *u.key {
				return uploads, nil // the keys are sorted, and the shortest with this prefix is the key itself
			}
			uploads = append(uploads, one)
		}
	}
	return uploads, nil
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
