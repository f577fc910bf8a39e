package patch

import (
	"io"
)

// shift is the insertion of Bytes whole blocks at At, in a journal. The file
// without it is called low here, the one with it high; all other offsets of a
// journal are those of the low file. An edit that removes blocks is journalled
// as the insertion that would bring them back, with Back set: then the low
// file is the new one.
type shift struct {
	At     int64  `json:"at"`
	Bytes  int64  `json:"bytes"`
	SHA256 []byte `json:"sha256"` // of what stands in the inserted blocks
	Back   bool   `json:"back,omitempty"`
}

// size is the number of bytes that the shift inserts; 0 without one.
func (s *shift) size() int64 {
	if s == nil {
		return 0
	}
	return s.Bytes
}

// high is where an offset of the low file lies in the high one.
func (s *shift) high(at int64) int64 {
	if s != nil && at >= s.At {
		at += s.Bytes
	}
	return at
}

// lowReader reads a high file by the offsets of the low one.
type lowReader struct {
	r io.ReaderAt
	s *shift
}

// ReadAt reads at offsets of the low file, in two pieces across the shift.
func (l lowReader) ReadAt(p []byte, at int64) (int, error) {
	if at >= l.s.At || at+int64(len(p)) <= l.s.At {
		return l.r.ReadAt(p, l.s.high(at))
	}
	n, err := l.r.ReadAt(p[:l.s.At-at], at)
	if err != nil {
		return n, err
	}
	m, err := l.r.ReadAt(p[n:], l.s.high(l.s.At))
	return n + m, err
}
