package patch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"
)

// joined sorts ranges, joins those that touch, and leaves out what lies
// outside of the file.
func joined(ranges [][2]int64, size int64) [][2]int64 {
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	out := [][2]int64{}
	for _, r := range ranges {
		r[0], r[1] = max(r[0], 0), min(r[1], size)
		switch n := len(out); {
		case r[0] >= r[1]:
		case n > 0 && r[0] <= out[n-1][1]:
			out[n-1][1] = max(out[n-1][1], r[1])
		default:
			out = append(out, r)
		}
	}
	return out
}

// stays is a range of the source that stays, and where it lies in the target.
type stays struct{ from, to, size int64 }

// kept gives what stays between the edits, in order.
func (h *PatchHeader) kept() iter.Seq[stays] {
	return func(yield func(stays) bool) {
		var from, to int64
		for _, e := range h.Edits {
			if n := e.At - from; n > 0 && !yield(stays{from, to, n}) {
				return
			}
			to += e.At - from + e.New
			from = e.At + e.Old
		}
		if n := h.Source.Size - from; n > 0 {
			yield(stays{from, to, n})
		}
	}
}

// add hashes the part of s that lies in [first, end) of the source, read from
// the source or the target through a buffer.
func (s stays) add(sum hash.Hash, f io.ReaderAt, after bool, first, end int64, buffer []byte) error {
	first, end = max(first, s.from), min(end, s.from+s.size)
	if first >= end {
		return nil
	}
	at := first
	if after {
		at += s.to - s.from
	}
	for left := end - first; left > 0; {
		n, err := f.ReadAt(buffer[:min(left, int64(len(buffer)))], at)
		sum.Write(buffer[:n])
		at, left = at+int64(n), left-int64(n)
		if left > 0 && n < len(buffer) {
			if err == nil || errors.Is(err, io.EOF) {
				err = errCut
			}
			return err
		}
	}
	return nil
}

// outside sums what stays and is no tensor data.
func (h *PatchHeader) outside(f io.ReaderAt, after bool) (string, error) {
	sum, buffer := sha256.New(), make([]byte, sameBuffer)
	for s := range h.kept() {
		at := s.from
		for _, d := range h.dataIn(s.from, s.from+s.size) {
			if err := s.add(sum, f, after, at, d[0], buffer); err != nil {
				return "", err
			}
			at = d[1]
		}
		if err := s.add(sum, f, after, at, s.from+s.size, buffer); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// dataIn are the ranges of tensor data that meet [first, end).
func (h *PatchHeader) dataIn(first, end int64) [][2]int64 {
	i, _ := slices.BinarySearchFunc(h.Data, first, func(d [2]int64, at int64) int {
		if d[1] <= at {
			return -1
		}
		return 1
	})
	j := i
	for j < len(h.Data) && h.Data[j][0] < end {
		j++
	}
	return h.Data[i:j]
}

// windows are the surroundings of the edits in the source, those that meet as
// one. They meet in the target as well, for what lies between stays.
func (h *PatchHeader) windows() [][2]int64 {
	var out [][2]int64
	for _, e := range h.Edits {
		out = append(out, [2]int64{e.At - surroundings, e.At + e.Old + surroundings})
	}
	return joined(out, h.Source.Size)
}

// around sums the tensor data that stays in each window. Both windows and what
// stays are in order, and are gone through once.
func (h *PatchHeader) around(f io.ReaderAt, after bool) ([]string, error) {
	out := []string{}
	kept, buffer := slices.Collect(h.kept()), make([]byte, sameBuffer)
	for _, w := range h.windows() {
		sum := sha256.New()
		for len(kept) > 0 && kept[0].from+kept[0].size <= w[0] {
			kept = kept[1:]
		}
		for _, s := range kept {
			if s.from >= w[1] {
				break
			}
			for _, d := range h.dataIn(max(s.from, w[0]), min(s.from+s.size, w[1])) {
				if err := s.add(sum, f, after, max(d[0], w[0]), min(d[1], w[1]), buffer); err != nil {
					return nil, err
				}
			}
		}
		out = append(out, hex.EncodeToString(sum.Sum(nil)))
	}
	return out, nil
}

// Differs says in what a file differs from the one that the patch was made
// from, or with after from the one that it gives. Empty: it is that file, as
// far as the patch tells.
func (f *PatchFile) Differs(file io.ReaderAt, size int64, after bool) (string, error) {
	want := f.Source
	if after {
		want = f.Target
	}
	if size != want.Size {
		return fmt.Sprintf("it has %d bytes, not %d", size, want.Size), nil
	}
	for _, look := range []func(io.ReaderAt, bool) (string, error){f.editsDiffer, f.aroundDiffers, f.outsideDiffers} {
		if how, err := look(file, after); how != "" || err != nil {
			return how, err
		}
	}
	if want.SHA256 == "" {
		return "", nil
	}
	if sum, err := sumOf(io.NewSectionReader(file, 0, size), size); err != nil || sum != want.SHA256 {
		return "tensor data differ far from the edits", err
	}
	return "", nil
}

// editsDiffer compares what stands in the places of the edits.
func (f *PatchFile) editsDiffer(file io.ReaderAt, after bool) (string, error) {
	shift := int64(0)
	buffers := new([2][sameBuffer]byte)
	for i, e := range f.Edits {
		at, want := e.At, f.old[i]
		if after {
			at, want = e.At+shift, f.new[i]
		}
		shift += e.New - e.Old
		same, err := sameStream(io.NewSectionReader(file, at, want.Size()), want.Open(), buffers)
		if err != nil {
			return "", err
		}
		if !same {
			return fmt.Sprintf("bytes %d to %d (%s) are not those that the patch knows", at, at+want.Size(), clipped(e.Why)), nil
		}
	}
	return "", nil
}

func (f *PatchFile) aroundDiffers(file io.ReaderAt, after bool) (string, error) {
	sums, err := f.around(file, after)
	if err != nil {
		return "", err
	}
	for i, w := range f.windows() {
		if i >= len(f.Around) || sums[i] != f.Around[i] {
			return fmt.Sprintf("tensor data near the edited bytes %d to %d differ", w[0]+surroundings, max(w[1]-surroundings, w[0])), nil
		}
	}
	return "", nil
}

func (f *PatchFile) outsideDiffers(file io.ReaderAt, after bool) (string, error) {
	sum, err := f.outside(file, after)
	if err == nil && sum != f.Outside {
		return "what is not tensor data differs (keys, names, graph)", nil
	}
	return "", err
}

// sameBuffer is how much of two readers is compared at once.
const sameBuffer = 1 << 16

// sameStream compares two readers to their ends.
func sameStream(a, b io.Reader, buffers *[2][sameBuffer]byte) (bool, error) {
	x, y := buffers[0][:], buffers[1][:]
	for {
		n, err1 := io.ReadFull(a, x)
		m, err2 := io.ReadFull(b, y)
		if n != m || !bytes.Equal(x[:n], y[:m]) {
			return false, nil
		}
		for _, err := range []error{err1, err2} {
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return false, err
			}
		}
		if err1 != nil {
			return true, nil
		}
	}
}

// clipped cuts a text of a patch file, which may be of any length, for a message.
func clipped(s string) string {
	const most = 120
	if r := []rune(s[:min(len(s), 4*most)]); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
