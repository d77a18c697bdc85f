package transfer

import (
	"culvert/fileservice"
	"culvert/internal/crc"
	"culvert/place"
)

// polynomialOf returns the polynomial of a CRC.
func polynomialOf(a place.Algorithm) (p crc.Polynomial, is bool) {
	switch a {
	case place.CRC32:
		return crc.IEEE, true
	case place.CRC32C:
		return crc.Castagnoli, true
	case place.CRC64NVME:
		return crc.NVME, true
	}
	return crc.Polynomial{}, false
}

// joinBlocks returns the sum of a file of size bytes from those of its blocks, one after the other.
func joinBlocks(p crc.Polynomial, sums []byte, size int64) []byte {
	joined := p.Join()
	each := int64(len(sums)) / fileservice.Blocks(size)
	for left := size; left > 0; left -= fileservice.BlockSize {
		joined.Append(sums[:each], min(left, fileservice.BlockSize))
		sums = sums[each:]
	}
	return joined.Sum(nil)
}
