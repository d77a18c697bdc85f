package bucket

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"culvert/place"
)

// gcsUpload writes one object: a small one with one request, a large one with a resumable upload
// (https://cloud.google.com/storage/docs/performing-resumable-uploads). Multipart uploads of the XML API would take
// several parts at once, but cannot create an object only if there is none.
type gcsUpload struct {
	store   *gcsStore
	key     string
	create  bool
	facts   map[string]string // metadata of the object
	session string            // the URL of a resumable upload; "" before begin

	start int64  // where the part begins that is being sent
	taken int64  // how many bytes the store has confirmed
	tail  []byte // of the last part: what does not fill a unit, and is sent by complete
	crc   uint32 // of all parts

	verified bool // the store has returned the checksum of the object
}

func (s *gcsStore) upload(key string, create bool, metadata map[string]string) upload {
	return &gcsUpload{store: s, key: key, create: create, facts: metadata}
}

// crcText returns a checksum as the API writes it.
func crcText(crc uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))
}

// address returns the URL to which an upload of some type is sent.
func (u *gcsUpload) address(uploadType string) string {
	query := url.Values{"uploadType": {uploadType}, "fields": {"size,generation,crc32c"}}
	if u.create {
		query.Set("ifGenerationMatch", "0") // there is none
	}
	return u.store.server + "/upload/storage/v1/b/" + u.store.name + "/o?" + query.Encode()
}

// metadata describes the object. The checksum is not sent if it is "".
func (u *gcsUpload) metadata(crc string) []byte {
	text, _ := json.Marshal(struct { // never fails
		Name     string            `json:"name"`
		Type     string            `json:"contentType"`
		CRC32C   string            `json:"crc32c,omitempty"`
		Metadata map[string]string `json:"metadata"`
	}{u.key, contentType, crc, u.facts})
	return text
}

// put sends the description of the object and its data as multipart/related. The boundary is random, so that it is not
// in the data.
func (u *gcsUpload) put(ctx context.Context, data []byte) error {
	crc, boundary := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)), u.facts[markKey]
	head := fmt.Sprintf("--%s\r\nContent-Type: application/json\r\n\r\n%s\r\n--%[1]s\r\nContent-Type: %s\r\n\r\n",
		boundary, u.metadata(crcText(crc)), contentType)
	end := "\r\n--" + boundary + "--\r\n"
	body := io.MultiReader(strings.NewReader(head), bytes.NewReader(data), strings.NewReader(end))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.address("multipart"), body)
	if err != nil {
		return err
	}
	request.ContentLength = int64(len(head) + len(data) + len(end))
	request.Header.Set("Content-Type", "multipart/related; boundary="+boundary)
	object := &gcsObject{}
	if err := u.store.call(request, object); err != nil {
		return inBucket(err)
	}
	return u.verify(object, crc)
}

// verify compares the object that was made with what was sent. The store has done so too, but an emulator may not.
func (u *gcsUpload) verify(object *gcsObject, crc uint32) error {
	if object.CRC32C != crcText(crc) {
		return fmt.Errorf("%w: the store has another checksum of the object", place.ErrIntegrity)
	}
	u.verified = true
	return nil
}

func (u *gcsUpload) begin(ctx context.Context) error {
	body := bytes.NewReader(u.metadata(""))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.address("resumable"), body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json; charset=UTF-8")
	request.Header.Set("X-Upload-Content-Type", contentType)
	response, err := u.store.client.Do(request)
	if err == nil {
		err = readAnswer(response, nil)
	}
	switch {
	case u.create && isUnmet(err):
		return fs.ErrExist
	case err != nil:
		return inBucket(err)
	}
	location, err := url.Parse(response.Header.Get("Location"))
	if err != nil || location.Path == "" {
		return fmt.Errorf("%w: the store has not named the upload", place.ErrIntegrity)
	}
	// The token of the credentials goes to no other server.
	u.session = u.store.server + location.RequestURI()
	return nil
}

func (u *gcsUpload) inOrder() bool { return true }

// part sends all of a part but what does not fill a unit, which only the last part has. If the answer to a request is
// lost, the request is repeated: the store ignores bytes that it has already.
func (u *gcsUpload) part(ctx context.Context, _ int, data []byte) error {
	whole := len(data) / partUnit * partUnit
	end := u.start + int64(whole)
	for u.taken < end {
		taken, err := u.send(ctx, data[u.taken-u.start:whole])
		switch {
		case err != nil:
			return err
		case taken < u.taken || taken > end:
			return fmt.Errorf("%w: the store has %d bytes of %d", place.ErrIntegrity, taken, end)
		case taken == u.taken:
			return fmt.Errorf("%w: the store takes nothing of a part", io.ErrUnexpectedEOF)
		}
		u.taken = taken
	}
	u.start = end
	u.tail = slices.Clone(data[whole:])
	u.crc = crc32.Update(u.crc, crc32.MakeTable(crc32.Castagnoli), data)
	return nil
}

// send sends bytes after those that were taken, and returns how many bytes of the object the store has then.
func (u *gcsUpload) send(ctx context.Context, data []byte) (taken int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, u.session, bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", u.taken, u.taken+int64(len(data))-1))
	response, err := u.store.client.Do(request)
	if err != nil {
		return 0, err
	}
	err = readAnswer(response, nil)
	switch refusal, is := errors.AsType[*gcsError](err); {
	case err == nil:
		return 0, fmt.Errorf("%w: the store has ended an upload that is not complete", place.ErrIntegrity)
	case !is || refusal.status != http.StatusPermanentRedirect:
		return 0, inSession(err)
	}
	text := response.Header.Get("Range")
	if text == "" {
		return 0, nil
	}
	last, isRange := strings.CutPrefix(text, "bytes=0-")
	taken, err = strconv.ParseInt(last, 10, 64)
	if !isRange || err != nil {
		return 0, fmt.Errorf("%w: the store does not say what it has", place.ErrIntegrity)
	}
	return taken + 1, nil
}

// inSession makes of both refusals with which the store says that an upload does not exist the one of other stores.
func inSession(err error) error {
	if refusal, is := errors.AsType[*gcsError](err); is && refusal.status == http.StatusGone {
		refusal.status = http.StatusNotFound
	}
	return err
}

// complete sends what is left, and the checksum of the object.
func (u *gcsUpload) complete(ctx context.Context, _ int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, u.session, bytes.NewReader(u.tail))
	if err != nil {
		return err
	}
	size := u.start + int64(len(u.tail))
	contentRange := fmt.Sprintf("bytes */%d", size)
	if len(u.tail) > 0 {
		contentRange = fmt.Sprintf("bytes %d-%d/%d", u.start, size-1, size)
	}
	request.Header.Set("Content-Range", contentRange)
	request.Header.Set("X-Goog-Hash", "crc32c="+crcText(u.crc))
	object := &gcsObject{}
	err = inSession(u.store.call(request, object))
	switch refusal, is := errors.AsType[*gcsError](err); {
	case isDamaged(err):
		return translate(ctx, err) // and nothing to send again: the upload has ended
	case is && refusal.status == http.StatusPermanentRedirect:
		return fmt.Errorf("%w: the store has not kept all of the last part", io.ErrUnexpectedEOF)
	case err != nil:
		return err
	}
	return u.verify(object, u.crc)
}

// abort ends a session. Its answer is 499 then.
func (u *gcsUpload) abort(ctx context.Context) error {
	if u.session == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, u.session, nil)
	if err != nil {
		return err
	}
	const clientClosedRequest = 499
	err = inSession(u.store.call(request, nil))
	refusal, is := errors.AsType[*gcsError](err)
	if is && (refusal.status == clientClosedRequest || refusal.status == http.StatusNotFound) {
		return nil
	}
	return err
}
