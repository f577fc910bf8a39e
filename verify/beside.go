package verify

import (
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelpatch/modelpatch/internal/extents"
	"github.com/modelpatch/modelpatch/position"
)

// together runs functions in a goroutine each and waits for all of them. A panic of one, which
// is how a model gives up (position.Abandoned), is raised again in the caller's goroutine.
func together(run ...func()) {
	panicked := make([]any, len(run))
	var running sync.WaitGroup
	for i, f := range run {
		running.Go(func() {
			defer func() { panicked[i] = recover() }()
			f()
		})
	}
	running.Wait()
	for _, p := range panicked {
		if p != nil {
			panic(p)
		}
	}
}

// compared has, of parts of both files that take long to read, the first byte at which they
// differ, −1 where they are equal.
type compared map[partKey]int64

// compareLarge compares the large parts that both files have, several at a time: memory of
// 128 KiB each. tell is Options.Compared.
func compareLarge(a []position.Part, b map[partKey]position.Part, tell func(done, total int64) error) compared {
	var large []partKey
	t := &progress{tell: tell}
	old := keyed(a)
	for _, p := range a {
		key := partKey{p.Kind, p.Name}
		if q, stays := b[key]; stays && p.Head == q.Head && p.Size == q.Size && p.Size > smallPart {
			large = append(large, key)
			t.total += p.Size
		}
	}
	first := make([]int64, len(large))
	var next atomic.Int64
	together(slices.Repeat([]func(){func() {
		for i := next.Add(1) - 1; i < int64(len(large)); i = next.Add(1) - 1 {
			first[i] = t.firstDifference(old[large[i]], b[large[i]])
		}
	}}, runtime.GOMAXPROCS(0))...)
	out := make(compared, len(large))
	for i, key := range large {
		out[key] = first[i]
	}
	return out
}

// progress counts bytes that are read, and calls tell for them.
type progress struct {
	tell        func(done, total int64) error
	done, total int64
	mu          sync.Mutex
}

// firstDifference is the first byte at which two large parts of one size differ, −1 when they are
// equal. What the file system knows to be the same blocks is not read.
func (t *progress) firstDifference(p, q position.Part) int64 {
	ranges := unread(p, q)
	read := int64(0)
	for _, r := range ranges {
		read += r[1] - r[0]
	}
	if t.skip(p.Size-read) != nil {
		return 0
	}
	for _, r := range ranges {
		if at := firstDifference(t.counting(within(p, r)), within(q, r)); at >= 0 {
			return r[0] + at
		}
	}
	return -1
}

// outer is implemented by readers of a range of bytes.
type outer interface {
	Outer() (r io.ReaderAt, at, n int64)
}

// unread are the ranges of two parts of one size that have to be read to compare them.
func unread(p, q position.Part) []extents.Range {
	x, okX := p.Open().(outer)
	y, okY := q.Open().(outer)
	if !okX || !okY {
		return []extents.Range{{0, p.Size}}
	}
	a, atA, nA := x.Outer()
	b, atB, nB := y.Outer()
	f, okF := a.(*os.File)
	g, okG := b.(*os.File)
	if !okF || !okG || nA != p.Size || nB != p.Size {
		return []extents.Range{{0, p.Size}}
	}
	return extents.Unshared(f, g, atA, atB, p.Size)
}

// within is a range of a part.
func within(p position.Part, r extents.Range) position.Part {
	if r == (extents.Range{0, p.Size}) {
		return p
	}
	o, ok := p.Open().(outer)
	if !ok { // unread gave the whole part
		return p
	}
	from, at, _ := o.Outer()
	p.Size = r[1] - r[0]
	p.Open = func() io.Reader { return io.NewSectionReader(from, at+r[0], p.Size) }
	return p
}

// skip counts bytes that need not be read.
func (t *progress) skip(n int64) error {
	if t.tell == nil || n == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done += n
	return t.tell(t.done, t.total)
}

// counting returns a part whose reading calls tell, and ends with an error of it.
func (t *progress) counting(p position.Part) position.Part {
	if t.tell == nil {
		return p
	}
	open := p.Open
	p.Open = func() io.Reader { return &progressReader{open(), t} }
	return p
}

type progressReader struct {
	io.Reader
	t *progress
}

// Read reads on, and counts it.
func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.t.done += int64(n)
	if err := r.t.tell(r.t.done, r.t.total); err != nil {
		return 0, err // a full read would hide it
	}
	return n, err
}

// firstDifference is the first byte at which a part of the old file and the new one's of the
// same name and size differ, −1 when they are equal.
func (c compared) firstDifference(p, q position.Part) int64 {
	if at, ok := c[partKey{p.Kind, p.Name}]; ok {
		return at
	}
	return firstDifference(p, q)
}

// same reports whether a part of the old file and the new one's are equal.
func (c compared) same(p, q position.Part) bool {
	return p.Head == q.Head && p.Size == q.Size && c.firstDifference(p, q) < 0
}
