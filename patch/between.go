package patch

import (
	"bytes"
	"cmp"
	"context"
	"hash/maphash"
	"io"
	"slices"
	"sort"
)

const (
	// mostChunks bounds the pieces that a file is cut into to be found in another; they are
	// larger in a larger file.
	mostChunks = 1 << 18
	// leastChunk is the usual size of a piece of a small file.
	leastChunk = 1 << 9
	// joinedEdits is the number of equal bytes between two edits up to which they become one: an edit takes about
	// as much in a patch file's header.
	joinedEdits = 32
	// mostBetween bounds the edits of Between: farther ones are joined until there are no more.
	mostBetween = 1 << 14
	// betweenBuffer is how much of a file is compared at once.
	betweenBuffer = 1 << 16
)

// Between returns edits that make file b of file a, whoever made them. Both files are cut where their content says so
// (content-defined chunking, as in LBFS, Muthitacharoen et al. 2001), the pieces that either has once are the anchors
// (the longest run of them in one order, as in patience diff), and what lies between is compared
// byte by byte from both ends. The edits read b when they are applied.
func Between(ctx context.Context, a, b io.ReaderAt, sizeA, sizeB int64) ([]Edit, error) {
	m := &matcher{ctx: ctx, a: a, b: b, x: make([]byte, betweenBuffer), y: make([]byte, betweenBuffer)}
	anchors, err := m.anchors(sizeA, sizeB)
	if err != nil {
		return nil, err
	}
	var gaps []gap
	atA, atB := int64(0), int64(0)
	for _, k := range append(anchors, anchor{sizeA, sizeB, 0}) {
		g, err := m.gap(atA, k.a, atB, k.b)
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, g...)
		atA, atB = k.a+k.size, k.b+k.size
	}
	for distance := int64(joinedEdits); ; distance *= 2 {
		if gaps = joinGaps(gaps, distance); len(gaps) <= mostBetween {
			break
		}
	}
	var out []Edit
	for _, g := range gaps {
		out = append(out, Edit{At: g.a, Old: g.endA - g.a, New: Region(b, g.b, g.endB-g.b)})
	}
	return out, nil
}

// anchor is a piece that both files have.
type anchor struct{ a, b, size int64 }

// gap is a range of a in whose place b has another.
type gap struct{ a, endA, b, endB int64 }

// joinGaps joins gaps with less than distance equal bytes in between.
func joinGaps(gaps []gap, distance int64) []gap {
	var out []gap
	for _, g := range gaps {
		if n := len(out); n > 0 && g.a-out[n-1].endA < distance {
			out[n-1].endA, out[n-1].endB = g.endA, g.endB
		} else {
			out = append(out, g)
		}
	}
	return out
}

// matcher compares two files.
type matcher struct {
	ctx  context.Context
	a, b io.ReaderAt
	x, y []byte
}

// anchors finds pieces that stand once in each file, in one order in both.
func (m *matcher) anchors(sizeA, sizeB int64) ([]anchor, error) {
	usual := int64(leastChunk)
	for max(sizeA, sizeB)/usual > mostChunks {
		usual *= 2
	}
	seed := maphash.MakeSeed()
	was, err := m.chunks(m.a, sizeA, usual, seed)
	if err != nil {
		return nil, err
	}
	is, err := m.chunks(m.b, sizeB, usual, seed)
	if err != nil {
		return nil, err
	}
	var found []anchor
	for sum, at := range is {
		if from, ok := was[sum]; ok && at.once && from.once && at.size == from.size {
			found = append(found, anchor{from.at, at.at, at.size})
		}
	}
	slices.SortFunc(found, func(p, q anchor) int { return cmp.Compare(p.b, q.b) })
	found = longestRun(found)
	out := found[:0]
	for _, k := range found { // equal sums are no proof
		n, err := m.prefix(k.a, k.b, k.size)
		if err != nil {
			return nil, err
		}
		if n == k.size {
			out = append(out, k)
		}
	}
	return out, nil
}

// longestRun is the longest subsequence of anchors whose places in a rise (Fredman 1975).
func longestRun(all []anchor) []anchor {
	tails := []int{} // of the run of each length, the one that ends first
	before := make([]int, len(all))
	for i, k := range all {
		n := sort.Search(len(tails), func(j int) bool { return all[tails[j]].a >= k.a })
		if before[i] = -1; n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	out := make([]anchor, len(tails))
	if len(tails) == 0 {
		return out
	}
	for i, at := len(tails)-1, tails[len(tails)-1]; i >= 0; i, at = i-1, before[at] {
		out[i] = all[at]
	}
	return out
}

// chunk is a piece of a file.
type chunk struct {
	at, size int64
	once     bool
}

// chunks cuts a file where a rolling sum of its last 64 bytes says so, and returns the pieces by
// a sum of their content.
func (m *matcher) chunks(f io.ReaderAt, size, usual int64, seed maphash.Seed) (map[uint64]chunk, error) {
	out := map[uint64]chunk{}
	var h maphash.Hash
	h.SetSeed(seed)
	var rolling uint64
	mask := uint64(usual-1) << 32
	start := int64(0)
	cut := func(end int64) {
		sum := h.Sum64()
		_, seen := out[sum]
		out[sum] = chunk{start, end - start, !seen}
		h.Reset()
		rolling, start = 0, end
	}
	for at := int64(0); at < size; {
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
		n := min(betweenBuffer, size-at)
		if err := readFull(f, m.x[:n], at); err != nil {
			return nil, err
		}
		from := int64(0)
		for i := range n {
			rolling = rolling<<1 + gear(m.x[i])
			if length := at + i + 1 - start; rolling&mask == 0 && length >= usual/4 || length >= usual*8 {
				h.Write(m.x[from : i+1])
				cut(at + i + 1)
				from = i + 1
			}
		}
		h.Write(m.x[from:n])
		at += n
	}
	if start < size {
		cut(size)
	}
	return out, nil
}

// gear spreads a byte over 64 bits (the finaliser of splitmix64, Steele et al. 2014).
func gear(b byte) uint64 {
	z := (uint64(b) + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// gap compares what lies between two anchors.
func (m *matcher) gap(a, endA, b, endB int64) ([]gap, error) {
	n, err := m.prefix(a, b, min(endA-a, endB-b))
	if err != nil {
		return nil, err
	}
	a, b = a+n, b+n
	if n, err = m.suffix(endA, endB, min(endA-a, endB-b)); err != nil {
		return nil, err
	}
	endA, endB = endA-n, endB-n
	switch {
	case a == endA && b == endB:
		return nil, nil
	case endA-a != endB-b:
		return []gap{{a, endA, b, endB}}, nil
	}
	return m.sameSize(a, b, endA-a)
}

// sameSize compares two ranges of one size byte by byte.
func (m *matcher) sameSize(a, b, size int64) ([]gap, error) {
	var out []gap
	for at := int64(0); at < size; {
		n, err := m.read(a+at, b+at, min(betweenBuffer, size-at))
		if err != nil {
			return nil, err
		}
		for i := range n {
			if m.x[i] == m.y[i] {
				continue
			}
			p, q := a+at+i, b+at+i
			if k := len(out); k > 0 && p-out[k-1].endA < joinedEdits {
				out[k-1].endA, out[k-1].endB = p+1, q+1
			} else {
				out = append(out, gap{p, p + 1, q, q + 1})
			}
		}
		if len(out) > 2*mostBetween {
			out = joinGaps(out, 4*joinedEdits)
		}
		if len(out) > 2*mostBetween { // nearly everything differs
			return []gap{{a, a + size, b, b + size}}, nil
		}
		at += n
	}
	return out, nil
}

// read reads n bytes of both files.
func (m *matcher) read(a, b, n int64) (int64, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	if err := readFull(m.a, m.x[:n], a); err != nil {
		return 0, err
	}
	return n, readFull(m.b, m.y[:n], b)
}

// readFull reads a buffer's length of bytes that have to be there.
func readFull(f io.ReaderAt, p []byte, at int64) error {
	n, err := f.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// prefix counts the equal bytes from two places on, up to most.
func (m *matcher) prefix(a, b, most int64) (int64, error) {
	for at := int64(0); at < most; {
		n, err := m.read(a+at, b+at, min(betweenBuffer, most-at))
		if err != nil {
			return 0, err
		}
		if bytes.Equal(m.x[:n], m.y[:n]) {
			at += n
			continue
		}
		i := int64(0)
		for m.x[i] == m.y[i] {
			i++
		}
		return at + i, nil
	}
	return most, nil
}

// suffix counts the equal bytes before two places, up to most.
func (m *matcher) suffix(endA, endB, most int64) (int64, error) {
	for back := int64(0); back < most; {
		n := min(betweenBuffer, most-back)
		if _, err := m.read(endA-back-n, endB-back-n, n); err != nil {
			return 0, err
		}
		i := n
		for i > 0 && m.x[i-1] == m.y[i-1] {
			i--
		}
		if back += n - i; i > 0 {
			return back, nil
		}
	}
	return most, nil
}
