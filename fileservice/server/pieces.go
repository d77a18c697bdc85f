package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// ReadPieces answers requests until the client or the server ends. The observer sees each request as a call.
func (s service) ReadPieces(stream grpc.BidiStreamingServer[pb.ReadPiecesRequest, pb.ReadPiecesResponse]) error {
	call := callOf(stream.Context())
	call.told = true
	for {
		request := &pb.ReadPiecesRequest{}
		err := stream.RecvMsg(request)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		call.about = Call{
			Method: call.about.Method, Peer: call.about.Peer, Fingerprint: call.about.Fingerprint, Start: time.Now(),
		}
		err = s.readPieces(stream, call, request)
		if call.tell(err); err != nil {
			return err
		}
		select {
		case <-s.done:
			return nil
		default:
		}
	}
}

// readPieces reads several small ranges, and reports those that it could not read.
func (s service) readPieces(stream grpc.ServerStream, call *call, request *pb.ReadPiecesRequest) error {
	size := int64(0)
	for _, piece := range request.GetPieces() {
		offset, length := piece.GetOffset(), piece.GetLength()
		if offset < 0 || length <= 0 || length > wire.MaxPiece || piece.GetVersion() == nil {
			return fmt.Errorf("%w: a piece from %d of %d bytes", fs.ErrInvalid, offset, length)
		}
		size += length
	}
	if n := len(request.GetPieces()); n == 0 || n > wire.MaxPieces || size > wire.MessageSize {
		return fmt.Errorf("%w: %d pieces of %d bytes", fs.ErrInvalid, n, size)
	}
	buffer, err := call.conn.buffers.get(stream.Context())
	if err != nil {
		return err
	}
	reading := &readingPieces{server: s.Server, call: call, data: buffer.buffer.Extend(int(size))[:0]}
	answer := &wire.Outgoing{Fields: reading.run(request.GetPieces())}
	call.about.BytesRead = int64(len(reading.data))
	if len(reading.data) == 0 {
		buffer.free()
	} else {
		buffer.handOver()
		answer.Data = mem.NewBuffer(&reading.data, buffer)
	}
	return stream.SendMsg(answer)
}

// readingPieces is the state of one request.
type readingPieces struct {
	server *Server
	call   *call
	data   []byte // what was read
}

// run reads the pieces. It opens a file once for consecutive pieces of it.
func (r *readingPieces) run(pieces []*pb.ReadRequest) *pb.ReadPiecesResponse {
	response := &pb.ReadPiecesResponse{}
	for first := 0; first < len(pieces); {
		end := first + 1
		for end < len(pieces) && sameFile(pieces[first], pieces[end]) {
			end++
		}
		begin := len(r.data)
		failed, err := r.file(pieces[first:end])
		if err != nil {
			r.data = r.data[:begin]
			failed = failed[:0]
			for i := range pieces[first:end] {
				failed = append(failed, uint32(i))
			}
		}
		for _, i := range failed {
			response.Failed = append(response.Failed, uint32(first)+i)
		}
		first = end
	}
	return response
}

func sameFile(a, b *pb.ReadRequest) bool {
	return a.GetPath() == b.GetPath() && wire.VersionOf(a.GetVersion()) == wire.VersionOf(b.GetVersion())
}

// file reads pieces of one file, and returns the indexes of those that failed. An error concerns all pieces.
func (r *readingPieces) file(pieces []*pb.ReadRequest) (failed []uint32, err error) {
	local, err := r.call.open(pieces[0].GetPath())
	if err != nil {
		return nil, err
	}
	file, version, err := r.server.openVersion(local, pieces[0].GetVersion())
	if err != nil {
		return nil, err
	}
	for i, piece := range pieces {
		if !r.read(file, piece) {
			failed = append(failed, uint32(i))
		}
	}
	return failed, errors.Join(unchanged(file, version), file.Close())
}

// read appends a whole piece to the data, or nothing.
func (r *readingPieces) read(file *os.File, piece *pb.ReadRequest) bool {
	end := len(r.data) + int(piece.GetLength())
	if n, _ := file.ReadAt(r.data[len(r.data):end], piece.GetOffset()); n < int(piece.GetLength()) {
		return false
	}
	r.data = r.data[:end]
	return true
}
