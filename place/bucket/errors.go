package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"culvert/internal/lazyregexp"
	"culvert/place"
)

// named returns an error about a name in the place.
func named(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if inner, is := errors.AsType[*fs.PathError](err); is {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// answer is what a store has answered instead of what was asked for.
type answer struct {
	status int
	code   string // such as NoSuchKey
	text   string
	skew   time.Duration // by how much the clock of a store that refuses a signature is ahead, if that may be why
}

// maxSkew is less than any store accepts: S3 refuses requests that seem to be 15 minutes old.
const maxSkew = 5 * time.Minute

// skewOf returns how far the clock of a store is ahead, or 0 if it is about right or not known.
func skewOf(h http.Header) time.Duration {
	now, err := http.ParseTime(h.Get("Date"))
	skew := time.Until(now).Round(time.Minute)
	if err != nil || h.Get("Age") != "" || skew.Abs() < maxSkew {
		return 0
	}
	return skew
}

// isSkewed reports whether a store may have refused a request for the time in it. An answer to HEAD has no code.
func isSkewed(err error) bool {
	a, answered := answerOf(err)
	return answered && (a.skew != 0 || strings.EqualFold(a.code, tooSkewed))
}

const tooSkewed = "RequestTimeTooSkewed"

// answerOf returns the answer in an error, if the store has answered.
func answerOf(err error) (a answer, answered bool) {
	region := ""
	// Without an answer, this error has an empty one. With one that cannot be read to its end, it has a good one.
	if response, is := errors.AsType[*smithyhttp.ResponseError](err); is && response.HTTPStatusCode() != 0 {
		a, answered = answer{status: response.HTTPStatusCode()}, true
		region = response.Response.Header.Get("X-Amz-Bucket-Region")
		if a.status == http.StatusForbidden {
			a.skew = skewOf(response.Response.Header)
		}
	}
	if api, is := errors.AsType[smithy.APIError](err); is {
		a.code, a.text, answered = api.ErrorCode(), api.ErrorMessage(), true
	}
	if region != "" && (a.status == http.StatusMovedPermanently || a.status == http.StatusBadRequest) {
		a.text = "the bucket is in the region " + region
	}
	if api, is := errors.AsType[*azcore.ResponseError](err); is {
		a, answered = answer{status: api.StatusCode, code: api.ErrorCode}, true
	}
	if refusal, is := errors.AsType[*gcsError](err); is {
		a, answered = refusal.answer, true
	}
	if a.status/100 == 2 && a.code == "" {
		return answer{}, false
	}
	return a, answered
}

func (a answer) String() string {
	text := a.code
	if strings.ReplaceAll(a.text, " ", "") != a.code { // without a body, both are made of the status
		text = strings.TrimSpace(text + " " + secrets.ReplaceAllString(a.text, "?..."))
	}
	if a.skew != 0 {
		text += fmt.Sprintf(" (the clock of this machine differs from the store's by %v: set it)", a.skew.Abs())
	}
	if a.status == 0 || a.status == http.StatusOK {
		return "the store answers " + text
	}
	return strings.TrimSpace(fmt.Sprintf("the store answers %d %s", a.status, text))
}

// secrets matches the query of a URL, which may be signed.
var secrets = lazyregexp.New(`\?[^\s"]+`)

// urlErrors matches the beginning of a *url.Error of which only the text is left.
var urlErrors = lazyregexp.New(`\b[A-Z][a-z]+ "[a-z]+://[^"]*": `)

// errNoBucket is an fs.ErrNotExist, as that of an object that does not exist.
var errNoBucket error = noBucketError{}

type noBucketError struct{}

func (noBucketError) Error() string { return "bucket: the bucket does not exist" }

func (noBucketError) Is(target error) bool { return target == fs.ErrNotExist }

// damaged are the codes of answers to a part that was damaged on its way.
var damaged = []string{
	"BadDigest", "XAmzContentSHA256Mismatch", "InvalidDigest", "XAmzContentChecksumMismatch",
	string(bloberror.MD5Mismatch), "Crc64Mismatch",
}

// busy are the codes with which stores ask to be called again, some of them in an answer that began with 200.
var busy = []string{
	"InternalError", "SlowDown", "ServiceUnavailable", "Throttling", "ThrottlingException", "RequestTimeout",
	"RequestLimitExceeded", "TooManyRequests", "ServerBusy", "OperationTimedOut", "OperationAborted",
	"rateLimitExceeded", "userRateLimitExceeded",
}

// denied are the codes of answers that refuse the credentials, some of them with the status 400.
var denied = []string{
	"AccessDenied", "ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch",
	tooSkewed,
}

func isDamaged(err error) bool {
	a, answered := answerOf(err)
	return answered && contains(damaged, a.code) || errors.Is(err, place.ErrIntegrity)
}

func contains(codes []string, code string) bool {
	for _, each := range codes {
		if strings.EqualFold(each, code) {
			return true
		}
	}
	return false
}

// isRetryable reports whether the same request may succeed.
func isRetryable(err error) bool {
	if credentials, is := errors.AsType[*credentialsError](err); is {
		return credentials.again
	}
	if errors.Is(err, errEndless) {
		return false
	}
	if errors.Is(err, errStillThere) || errors.Is(err, errConcurrent) {
		return true
	}
	if a, answered := answerOf(err); answered {
		switch a.status {
		case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
			http.StatusGatewayTimeout, http.StatusTooManyRequests, http.StatusRequestTimeout:
			return true
		}
		return contains(busy, a.code) || contains(damaged, a.code)
	}
	return isOfConnection(err) || errors.Is(err, place.ErrIntegrity)
}

// isOfConnection reports whether no whole answer has arrived.
func isOfConnection(err error) bool {
	_, isNetwork := errors.AsType[net.Error](err)
	_, isURL := errors.AsType[*url.Error](err)
	_, isSend := errors.AsType[*smithyhttp.RequestSendError](err)
	_, isDeserialization := errors.AsType[*smithy.DeserializationError](err)
	return isNetwork || isURL || isSend || isDeserialization || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}

// isSilence reports whether a connection was given up because nothing moved on it, or because it was not made in time.
// Only the first of these is an os.ErrDeadlineExceeded.
func isSilence(err error) bool {
	network, is := errors.AsType[net.Error](err)
	return errors.Is(err, os.ErrDeadlineExceeded) || is && network.Timeout()
}

func isNotFound(err error) bool {
	a, answered := answerOf(err)
	return answered && (a.status == http.StatusNotFound || a.code == "NoSuchUpload") || errors.Is(err, fs.ErrNotExist)
}

// isConflict reports whether a condition of the request was not met, or the store names another conflict with what is
// there.
func isConflict(err error) bool {
	a, answered := answerOf(err)
	return isUnmet(err) || isSimultaneous(err) || answered && a.status == http.StatusConflict
}

// isUnmet reports whether a condition of the request was not met.
func isUnmet(err error) bool {
	a, answered := answerOf(err)
	return answered && (a.status == http.StatusPreconditionFailed || contains([]string{"PreconditionFailed"}, a.code))
}

// isSimultaneous reports whether another request has met the condition of this one at the same time.
func isSimultaneous(err error) bool {
	a, answered := answerOf(err)
	return answered && contains([]string{"ConditionalRequestConflict"}, a.code)
}

// repeatable returns the error of a request with a condition that can be sent again if another one was under way. It
// then succeeds, or finds what the other one has made.
func repeatable(err error) error {
	if isSimultaneous(err) {
		return fmt.Errorf("%w: %w", errConcurrent, err)
	}
	return err
}

// errConcurrent makes a request be repeated.
var errConcurrent = errors.New("bucket: another request has changed the object meanwhile")

// translate returns an error of a store's library in the words of this package, without URLs of requests.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if credentials, is := errors.AsType[*credentialsError](err); is {
		return credentials.translate()
	}
	if errors.Is(err, errEndless) {
		return errEndless // without what a library has added
	}
	if isOurs(err) {
		return err
	}
	a, answered := answerOf(err)
	switch {
	case !answered && isOfConnection(err):
		if isSilence(err) {
			return errSilent
		}
		return fmt.Errorf("%w: %s", place.ErrUnreachable, innermost(err))
	case !answered:
		return errors.New("bucket: " + innermost(err))
	case a.code == "NoSuchBucket", a.code == string(bloberror.ContainerNotFound):
		return errNoBucket
	case a.status == http.StatusNotFound:
		return fs.ErrNotExist
	case a.status == http.StatusForbidden, a.status == http.StatusUnauthorized, contains(denied, a.code):
		return &refusedError{a.String(), fs.ErrPermission}
	case contains(damaged, a.code):
		return fmt.Errorf("%w: a part was damaged on its way: %v", place.ErrIntegrity, a)
	case isRetryable(err):
		return fmt.Errorf("%w: %v", place.ErrUnreachable, a)
	}
	return &refusedError{a.String(), nil}
}

var errSilent = fmt.Errorf("%w: the store is silent", place.ErrUnreachable)

// refusedError says why the store does not do what it was asked.
type refusedError struct {
	text string
	kind error // one of package io/fs, or nil
}

func (e *refusedError) Error() string { return "bucket: " + e.text }

func (e *refusedError) Unwrap() []error { return []error{place.ErrRefused, e.kind} }

// isOurs reports whether an error needs no translation. Errors of connections may wrap those of files, and have URLs in
// their texts.
func isOurs(err error) bool {
	if _, isURL := errors.AsType[*url.Error](err); isURL {
		return false
	}
	for _, ours := range []error{
		place.ErrChanged, place.ErrIntegrity, place.ErrUnreachable,
		fs.ErrExist, fs.ErrNotExist, fs.ErrClosed, fs.ErrPermission, fs.ErrInvalid,
	} {
		if errors.Is(err, ours) {
			if _, answered := answerOf(err); !answered {
				return true
			}
		}
	}
	return false
}

// innermost returns the text of an error without the URL of its request.
func innermost(err error) string {
	if _, is := errors.AsType[*smithy.DeserializationError](err); is {
		return "the answer of the store cannot be read to its end"
	}
	if inner, is := errors.AsType[*url.Error](err); is {
		err = inner.Err
	}
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	text = urlErrors.ReplaceAllString(text, "")
	return secrets.ReplaceAllString(text, "?...")
}
