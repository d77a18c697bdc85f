package agefile

import (
	"bufio"
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

const (
	nonceSize = 16

	// maxHeader is the most that is read to find the end of the header. It is age's own limit.
	maxHeader = 2 << 20

	// withinLimits is a size of headers that are too short for the least limit of age, of 128 arguments, each of which
	// has a space before it.
	withinLimits = 256
)

// sealHeader returns the header and nonce that begin a new file, and its payload key.
func sealHeader(recipients []age.Recipient) (header, key []byte, err error) {
	if len(recipients) == 0 {
		return nil, nil, errors.New("agefile: no recipients")
	}
	all := slices.Clone(recipients)
	for i, recipient := range all {
		if r, is := recipient.(*age.X25519Recipient); is {
			if all[i], err = newX25519Recipient(r); err != nil {
				return nil, nil, err
			}
		}
	}
	// age reveals the file key only to the recipients that wrap it, so one of them keeps a copy.
	tap := &tapRecipient{Recipient: all[0]}
	defer func() { clear(tap.fileKey) }()
	all[0] = tap

	var buf bytes.Buffer
	// The writer is dropped: it has buffered nothing, and this package seals the payload.
	if _, err := age.Encrypt(&buf, all...); err != nil {
		return nil, nil, err
	}
	header = buf.Bytes()
	// Readers limit the size of a header, and how many stanzas and arguments it has; age.Encrypt does not.
	if len(header) > withinLimits {
		if _, err := age.ExtractHeader(bytes.NewReader(header)); err != nil {
			return nil, nil, fmt.Errorf("agefile: too many recipients: %w", err)
		}
	}
	key, err = payloadKey(tap.fileKey, header[len(header)-nonceSize:])
	return header, key, err
}

func payloadKey(fileKey, nonce []byte) ([]byte, error) {
	return hkdf.Key(sha256.New, fileKey, nonce, "payload", chacha20poly1305.KeySize)
}

// tapRecipient keeps a copy of the file key that it wraps.
type tapRecipient struct {
	age.Recipient
	fileKey []byte
}

func (t *tapRecipient) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	t.fileKey = bytes.Clone(fileKey)
	return t.Recipient.Wrap(fileKey)
}

// WrapWithLabels keeps the recipient's labels. age needs them to refuse a mix of post-quantum and classic recipients.
func (t *tapRecipient) WrapWithLabels(fileKey []byte) ([]*age.Stanza, []string, error) {
	if r, ok := t.Recipient.(age.RecipientWithLabels); ok {
		t.fileKey = bytes.Clone(fileKey)
		return r.WrapWithLabels(fileKey)
	}
	stanzas, err := t.Wrap(fileKey)
	return stanzas, nil, err
}

// openHeader reads the header and nonce of a file, up to the first chunk. It returns the payload key and the number of
// bytes read.
func openHeader(src *bufio.Reader, identities []age.Identity) (key []byte, size int64, err error) {
	header, err := readHeader(src)
	if err != nil {
		return nil, 0, err
	}
	fileKey, err := unwrap(header, identities)
	if err != nil {
		return nil, 0, err
	}
	defer clear(fileKey)
	var nonce [nonceSize]byte
	if _, err := io.ReadFull(src, nonce[:]); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, 0, truncated("no payload")
	} else if err != nil {
		return nil, 0, err
	}
	key, err = payloadKey(fileKey, nonce[:])
	return key, int64(len(header)) + nonceSize, err
}

// readHeader reads up to the end of the only header line that begins with three dashes.
func readHeader(src *bufio.Reader) ([]byte, error) {
	var header []byte
	for {
		start := len(header)
		for {
			part, err := src.ReadSlice('\n')
			header = append(header, part...)
			if len(header) > maxHeader {
				return nil, corrupt("header longer than %d bytes", maxHeader)
			}
			if err == nil {
				break
			}
			if err == io.EOF {
				return nil, truncated("header")
			}
			if err != bufio.ErrBufferFull {
				return nil, err
			}
			if start == 0 {
				return nil, corrupt("no header")
			}
		}
		if start == 0 && !bytes.HasPrefix(header, []byte("age-encryption.org/")) {
			if bytes.HasPrefix(header, []byte("-----BEGIN AGE")) {
				return nil, corrupt("armored, use an armor.Reader")
			}
			return nil, corrupt("no header")
		}
		if bytes.HasPrefix(header[start:], []byte("---")) {
			return header, nil
		}
	}
}

// unwrap returns the file key of a header. It is age.DecryptHeader, except that only errors about the header are
// ErrCorrupt; errors of the identities are returned unchanged.
func unwrap(header []byte, identities []age.Identity) ([]byte, error) {
	if len(identities) == 0 {
		return nil, errors.New("agefile: no identities")
	}
	if _, err := age.ExtractHeader(bytes.NewReader(header)); err != nil {
		return nil, corrupt("%w", err)
	}

	var identityErr error
	taps := make([]age.Identity, 0, len(identities))
	for _, native := range []bool{true, false} { // in age's order: identities that need no interaction come first
		for _, id := range identities {
			if isNative(id) == native {
				taps = append(taps, &tapIdentity{id, native, &identityErr})
			}
		}
	}
	fileKey, err := age.DecryptHeader(header, taps...)
	var noMatch *age.NoIdentityMatchError
	switch {
	case err == nil:
		return fileKey, nil
	case errors.As(err, &noMatch), identityErr != nil:
		return nil, err
	default:
		return nil, corrupt("%w", err)
	}
}

func isNative(id age.Identity) bool {
	switch id.(type) {
	case *age.X25519Identity, *age.HybridIdentity, *age.ScryptIdentity:
		return true
	}
	return false
}

// tapIdentity keeps the error of an identity that failed for its own reasons, such as a missing plugin or passphrase.
// Errors of native identities are always about the stanzas.
type tapIdentity struct {
	age.Identity
	native bool
	err    *error
}

func (t *tapIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	key, err := t.Identity.Unwrap(stanzas)
	if err != nil && !t.native && !errors.Is(err, age.ErrIncorrectIdentity) {
		*t.err = err
	}
	return key, err
}
