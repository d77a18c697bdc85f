package exchange

import (
	"time"
)

// A Handler executes the requests of a connection, concurrently. Only the puts to drafts are executed one by one, in
// the order of their requests.
type Handler interface {
	// Get opens what a request asks for.
	Get(*Request) (Content, error)

	// Put executes a request with its data, which it must not retain. The result is the head of the END.
	Put(r *Request, data []byte) (head []byte, err error)

	// Answers lends MaxPart bytes of memory for answers, and Blocks MaxLength bytes for the data of a put. They wait
	// until it is available. An error of Answers ends the connection; one of Blocks fails the put.
	Answers() (Memory, error)
	Blocks() (Memory, error)

	// Received returns a number that grows with each byte that the connection receives, also within a message.
	Received() int64

	// Began is called for each request, and Ended before its last message is written. The bytes are those of the file.
	Began()
	Ended(r *Request, start time.Time, bytes int, err error)
}

// Memory is lent by a Handler.
type Memory interface {
	Bytes() []byte
	Free()
}

// Content is the content of an answer: at most as many bytes as requested.
type Content struct {
	Head   []byte // of the END
	File   File   // nil if there are no bytes
	Offset int64
	Length int
}

// A File is read while it has one version.
type File interface {
	// ReadAt fills p. It fails if the file changed.
	ReadAt(p []byte, offset int64) error

	// ReadCached is ReadAt if it need not wait for the disk. Otherwise it returns false.
	ReadCached(p []byte, offset int64) (done bool, err error)
	Close() error
}

func (c *Content) close() error {
	if c.File == nil {
		return nil
	}
	return c.File.Close()
}
