package patch

import "fmt"

// Limits of a part of a multipart upload to S3, but for the last one, and of their number
// (Amazon S3 User Guide, "Multipart upload limits").
const (
	LeastPart = 5 << 20
	MostPart  = 5 << 30
	MostParts = 10_000
)

// OutputPart is a part of an output: bytes that lie in the input as well, or others.
type OutputPart struct {
	At, Size int64 // in the output
	From     int64 // in the input, where Copied
	Copied   bool  // the part is a range of the input
}

// Parts divides output i into parts of least to most bytes (the last one may be smaller), as many of
// them as can be ranges of the input. The plan must be sound. A store that copies ranges within itself then
// needs only the other parts.
func (p Plan) Parts(i int, least, most int64) ([]OutputPart, error) {
	size := p.OutputSize(i)
	var kept []Segment // ranges that make a part
	for s := range p.Segments(i) {
		if s.New == nil && (s.Size >= least || s.At+s.Size == size) {
			kept = append(kept, s)
		}
	}
	var out []OutputPart
	at := int64(0)
	add := func(end int64, copied bool, from int64) {
		for at < end {
			n := end - at
			if n > most {
				n = min(most, n-least) // what is left must make a part
			}
			out = append(out, OutputPart{At: at, Size: n, From: from, Copied: copied})
			at, from = at+n, from+n
		}
	}
	for _, s := range kept {
		from, end := s.At, s.At+s.Size
		if gap := from - at; gap > 0 && gap < least {
			from = at + least // the part before takes bytes of this one, to be large enough
		}
		if from >= end || end-from < least && end != size {
			continue // the rest makes no part by itself
		}
		add(from, false, 0)
		add(end, true, s.From+from-s.At)
	}
	add(size, false, 0)
	if len(out) > MostParts {
		return nil, fmt.Errorf("it takes %d parts, more than %d", len(out), MostParts)
	}
	return out, nil
}
