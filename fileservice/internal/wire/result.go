package wire

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
)

// ResultOf returns the result of one of several files. It carries the same details of an error as a failed call.
func ResultOf(err error) *pb.FileResult {
	if err == nil {
		return &pb.FileResult{}
	}
	s := status.Convert(ToStatus(err)).Proto()
	s.Message = Printable(s.Message)
	return &pb.FileResult{Error: s}
}

// ErrorOf is the inverse of ResultOf. The second error reports an invalid result.
func ErrorOf(result *pb.FileResult) (remote, err error) {
	switch s := result.GetError(); {
	case s == nil:
		return nil, nil
	case s.GetCode() == int32(codes.OK):
		return nil, fmt.Errorf("%w: an error with the code OK", fileservice.ErrIntegrity)
	default:
		return FromStatus(status.FromProto(s).Err()), nil
	}
}
