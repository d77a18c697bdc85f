package wire

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
)

// resultOf says what has come of one of several files. Of an error it carries all that a call that fails does.
func ResultOf(err error) *fileservicepb.FileResult {
	if err == nil {
		return &fileservicepb.FileResult{}
	}
	s := status.Convert(ToStatus(err)).Proto()
	s.Message = Printable(s.Message)
	encoded, err := proto.Marshal(s)
	if err != nil {
		panic("fileservice: a status cannot be encoded: " + err.Error())
	}
	return &fileservicepb.FileResult{Error: encoded}
}

// errorOf is the opposite. Its second error is for what is no such thing.
func ErrorOf(result *fileservicepb.FileResult) (told, err error) {
	if len(result.GetError()) == 0 {
		return nil, nil
	}
	s := status.New(codes.Unknown, "").Proto()
	if err := proto.Unmarshal(result.GetError(), s); err != nil || s.GetCode() == int32(codes.OK) {
		return nil, fmt.Errorf("%w: an error that is none", fileservice.ErrIntegrity)
	}
	return FromStatus(status.FromProto(s).Err()), nil
}
