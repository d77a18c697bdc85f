package wire

import (
	"fmt"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
)

// Marshal encodes a message of package fileservicepb.
func Marshal(m proto.Message) ([]byte, error) { return proto.Marshal(m) }

// Unmarshal decodes a message of package fileservicepb.
func Unmarshal(b []byte, m proto.Message) error { return proto.Unmarshal(b, m) }

// StatusOf returns what the other end may see of an error, or nil.
func StatusOf(err error) *statuspb.Status {
	s := status.Convert(ToStatus(err)).Proto()
	if s != nil {
		s.Message = Printable(s.Message)
	}
	return s
}

// ErrorOf is the inverse of StatusOf. The second error reports that s is invalid.
func ErrorOf(s *statuspb.Status) (remote, err error) {
	if s != nil && s.GetCode() == int32(codes.OK) {
		return nil, fmt.Errorf("%w: an error with the code OK", fileservice.ErrIntegrity)
	}
	return FromStatus(status.FromProto(s).Err()), nil
}

// MarshalError encodes the status of an error.
func MarshalError(err error) []byte {
	b, err := proto.Marshal(StatusOf(err))
	if err != nil {
		panic(fmt.Sprintf("fileservice: marshaling a status: %v", err)) // its message is valid UTF-8
	}
	return b
}

// UnmarshalError is the inverse of MarshalError.
func UnmarshalError(b []byte) (remote, err error) {
	s := &statuspb.Status{}
	if err := proto.Unmarshal(b, s); err != nil {
		return nil, err
	}
	return ErrorOf(s)
}
