package wire

import (
	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
)

// Capabilities returns the capabilities of a server of this module that accepts requests of maxMessageSize bytes.
func Capabilities(writable bool, maxMessageSize int) *pb.Capabilities {
	return &pb.Capabilities{
		Version: fileservice.ProtocolVersion, BlockSize: fileservice.BlockSize, Hash: fileservice.SumName,
		MaxMessageSize:   uint32(maxMessageSize),
		MaxSmallFileSize: fileservice.SmallFileSize, MaxSmallFiles: fileservice.MaxSmallFiles,
		Writable: writable,
	}
}

// CapabilitiesOf is the inverse of Capabilities. The name is safe to print.
func CapabilitiesOf(m *pb.Capabilities) fileservice.Capabilities {
	return fileservice.Capabilities{
		Version: int(m.GetVersion()), BlockSize: int(m.GetBlockSize()), SumName: Printable(m.GetHash()),
		MaxMessageSize:   int(m.GetMaxMessageSize()),
		MaxSmallFileSize: int(m.GetMaxSmallFileSize()), MaxSmallFiles: int(m.GetMaxSmallFiles()),
		Writable: m.GetWritable(),
	}
}
