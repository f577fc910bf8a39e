package gguf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelpatch/modelpatch/patch"
)

// ReserveKey is the key of a filler: a string whose bytes later edits in place
// may take. Engines ignore keys that they do not know (facts/GGUF-FACTS §a).
const ReserveKey = "modelpatch.reserve"

// MaxReserve is the most that Editor.Reserve leaves.
const MaxReserve = 64 << 20

// leastReserve is how much of a reserve's value stays: the old header's bytes
// may stand at its end, and must not be cut in the middle of a character.
const leastReserve = headerBytes

// smallRewrite is up to how many bytes a header is written again to make use of
// its padding, where inserting a block would do too.
const smallRewrite = 1 << 20

// PlaceError says why a change cannot be made in place.
type PlaceError struct {
	Path   string
	Why    string
	Tensor *Tensor // that would have to grow; nil: it is not about one
	Rows   int64   // to which it was to grow
	Fit    []int64 // numbers of rows near Rows that could be made in place
}

// Error is Why: the caller knows the file.
func (e *PlaceError) Error() string { return e.Why }

// Reserve leaves room for n bytes of keys in the file, in a filler that later
// edits in place take from.
func (e *Editor) Reserve(n int64) {
	if n < 0 || n > MaxReserve {
		e.conflict(fmt.Sprintf("a reserve of %d bytes; at most %d", n, MaxReserve))
		return
	}
	if p := e.file.Find(ReserveKey); p != nil && p.Type == TypeString && int64(p.Count) >= n {
		return
	}
	e.Set(ReserveKey, String(strings.Repeat(" ", int(n))), "room for later edits in place")
}

// Room is how many bytes of filler the plan of PlanInPlace adds, because blocks are inserted whole.
func (e *Editor) Room() int64 { return e.room }

// PlanInPlace is Plan for changing the file where it lies: every edit keeps its
// size, but for what is added at the file's end, and for one place where whole
// blocks are added. block is what the file system can insert
// (patch.InsertBlock); 0: nothing. A *PlaceError says what stands against it.
//
// New keys go into the header's padding, else into a reserve, else into a block
// inserted at the start, which holds the header's first bytes, the new keys,
// and a reserve whose value runs up to the first old key. Keys that go, or
// change their length, get a name that no engine knows; new ones take over.
func (e *Editor) PlanInPlace(block int64) (patch.Plan, error) {
	plan, err := e.Plan()
	if err != nil {
		return plan, err
	}
	stays, written := inPlace(plan)
	if stays && written <= smallRewrite {
		return plan, nil
	}
	placed := plan
	e.room = 0
	placed.Edits = nil
	for i, p := range e.file.Parts {
		b := placer{builder: builder{editor: e, part: p, number: i}}
		if block > 0 {
			b.block = max(block, p.Alignment)
		}
		edits, err := b.edits()
		if err != nil {
			if stays {
				return plan, nil
			}
			return plan, err
		}
		placed.Edits = append(placed.Edits, edits...)
	}
	return placed, nil
}

// inPlace reports whether a plan moves nothing, and how much it replaces.
func inPlace(p patch.Plan) (stays bool, written int64) {
	for _, e := range p.Edits {
		if size(e.New) != e.Old && e.At+e.Old != p.Inputs[e.File].Size {
			return false, 0
		}
		written += e.Old
	}
	return true, written
}

// placer is a builder that moves nothing but by whole blocks.
type placer struct {
	builder
	block  int64  // 0: none can be inserted
	fresh  []byte // new pairs
	pairs  int    // how many there are more than before
	taken  map[string]bool
	shifts int // places where blocks are inserted
}

func (b *placer) edits() ([]patch.Edit, error) {
	added := b.number == 0 && len(b.editor.added) > 0
	if b.number == 0 {
		b.oldKeys()
	}
	if err := b.tables(); err != nil {
		return nil, err
	}
	offsets, err := b.layout()
	if err != nil {
		return nil, err
	}
	b.infos(offsets)
	steps := []func() error{b.useReserve}
	if added {
		steps = append(steps, func() error { return b.growInfos(offsets) })
	} else {
		steps = append(steps, b.insertFront)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if b.shifts > 1 {
		return nil, b.refuse("blocks would have to be inserted in two places")
	}
	b.data()
	slices.SortStableFunc(b.out, func(x, y patch.Edit) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Old, y.Old))
	})
	return b.out, nil
}

func (b *placer) refuse(format string, args ...any) *PlaceError {
	return &PlaceError{Path: b.part.Path, Why: fmt.Sprintf(format, args...)}
}

// oldKeys edits pairs whose size stays, puts others out of use, and collects
// the new ones.
func (b *placer) oldKeys() {
	o := b.part.Order
	for _, key := range b.editor.sortedKeys() {
		k, p := b.editor.keys[key], b.part.Find(key)
		if k.remove {
			b.retire(p, k.why)
			continue
		}
		value := append(u32(o, uint32(k.value.Type)), k.value.bytes(o)...)
		switch {
		case p != nil && p.End-p.TypeAt == int64(len(value)) && p.Type == k.value.Type:
			b.header(p.ValueAt, p.End-p.ValueAt, value[4:], k.why)
			continue
		case p != nil && p.End-p.TypeAt == int64(len(value)):
			b.header(p.TypeAt, p.End-p.TypeAt, value, k.why)
			continue
		case p != nil:
			b.retire(p, k.why)
		}
		b.fresh = append(append(b.fresh, stored(o, key)...), value...)
		b.pairs++
	}
}

// retire gives a pair a name of the same length that means nothing.
func (b *placer) retire(p *Pair, why string) {
	b.header(p.At+8, int64(len(p.Key)), []byte(b.freeName(p.Key)), why+": the old key gets a name without meaning")
}

// freeName is a name of the length of key that the file has not, beginning
// with ours where there is room for it.
func (b *placer) freeName(key string) string {
	const ours = "modelpatch."
	name := []byte("~" + key[1:])
	if len(key) > len(ours) {
		name = []byte(ours + key[len(ours):])
	}
	for b.isTaken(string(name)) { // counts with the last characters
		for i := len(name) - 1; i >= 0; i-- {
			if name[i]++; name[i] > '!' && name[i] <= '~' {
				break
			}
			name[i] = '!'
		}
	}
	b.take(string(name))
	return string(name)
}

func (b *placer) isTaken(name string) bool {
	_, wanted := b.editor.keys[name]
	return wanted || b.taken[name] || b.part.Find(name) != nil
}

func (b *placer) take(name string) {
	if b.taken == nil {
		b.taken = map[string]bool{}
	}
	b.taken[name] = true
}

// count edits the number of keys.
func (b *placer) count(more int) {
	if more != 0 {
		b.header(16, 8, u64(b.part.Order, uint64(len(b.part.Pairs)+more)), "number of keys")
	}
}

// useReserve puts the new keys where a reserve stands, which moves up by their
// length and keeps its end.
func (b *placer) useReserve() error {
	if len(b.fresh) == 0 {
		return nil
	}
	for i := range b.part.Pairs {
		p := &b.part.Pairs[i]
		if b.number != 0 || p.Type != TypeString || !strings.HasPrefix(p.Key, ReserveKey) || p.Count < uint64(len(b.fresh)+leastReserve) {
			continue
		}
		text := append(slices.Clone(b.fresh), b.reserve(p.Key, int64(p.Count)-int64(len(b.fresh)))...)
		b.header(p.At, int64(len(text)), text, "new keys, out of the reserve")
		b.fresh = nil
		if len(b.editor.added) == 0 {
			b.count(b.pairs)
		}
		return nil
	}
	return nil
}

// reserve is a reserve's pair up to its value of n bytes.
func (b *placer) reserve(key string, n int64) []byte {
	o := b.part.Order
	return append(append(stored(o, key), u32(o, uint32(TypeString))...), u64(o, uint64(n))...)
}

// freeReserve is the name of a new reserve.
func (b *placer) freeReserve() string {
	name := ReserveKey
	for i := 2; b.isTaken(name); i++ {
		name = fmt.Sprintf("%s.%d", ReserveKey, i)
	}
	return name
}

// wholeBlocks rounds up.
func (b *placer) wholeBlocks(n int64) int64 { return (n + b.block - 1) / b.block * b.block }

func (b *placer) room() error {
	if b.block > 0 {
		return nil
	}
	return b.refuse("%d bytes of new keys and no room for them: neither padding nor a reserve", len(b.fresh))
}

// insertFront inserts blocks before the file: the header's first bytes again,
// the new keys, and a reserve that ends where the first old key begins. The
// old first bytes become part of its value.
func (b *placer) insertFront() error {
	if len(b.fresh) == 0 {
		return nil
	}
	if err := b.room(); err != nil {
		return err
	}
	o, name := b.part.Order, b.freeReserve()
	old, err := b.part.read(0, headerBytes)
	if err != nil {
		return err
	}
	head := slices.Clone(old)
	o.PutUint64(head[16:], uint64(len(b.part.Pairs)+b.pairs+1))
	head = append(head, b.fresh...)
	head = append(head, b.reserve(name, 0)...)
	n := b.wholeBlocks(int64(len(head)))
	o.PutUint64(head[len(head)-8:], uint64(n-int64(len(head))+headerBytes))
	b.editor.room += n - int64(len(head))
	head = append(head, strings.Repeat(" ", int(n)-len(head))...)
	b.add(0, 0, patch.Bytes(head), "a block before the file: new keys, and room for more")
	if !utf8.Valid(old) { // readers that decode the reserve would stumble
		b.add(0, headerBytes, patch.Text(strings.Repeat(" ", headerBytes)), "old counts, now part of the reserve")
	}
	b.shifts++
	return nil
}

// growInfos adds infos of new tensors, with as large a reserve before the infos
// as makes the header grow by whole blocks: data then stay aligned.
func (b *placer) growInfos(offsets []int64) error {
	if b.block == 0 {
		return b.refuse("the tensor list has no room for more")
	}
	p, o := b.part, b.part.Order
	end := int64(headerBytes)
	if n := len(p.Pairs); n > 0 {
		end = p.Pairs[n-1].End
	}
	infos := b.newInfos(offsets[len(offsets)-1])
	filler := b.reserve(b.freeReserve(), 0)
	least := int64(len(b.fresh) + len(filler) + len(infos))
	n := b.wholeBlocks(least)
	o.PutUint64(filler[len(filler)-8:], uint64(n-least))
	b.editor.room += n - least
	inside := func(e patch.Edit) bool { return e.At >= end }
	moved := slices.DeleteFunc(slices.Clone(b.out), func(e patch.Edit) bool { return !inside(e) })
	b.out = slices.DeleteFunc(b.out, inside)
	tail := b.join(end, p.HeaderEnd, moved, "")
	b.count(b.pairs + 1)
	b.header(8, 8, u64(o, uint64(len(p.Tensors)+len(b.editor.added))), "number of tensors")
	b.add(end, p.HeaderEnd-end, patch.Concat(patch.Bytes(b.fresh), patch.Bytes(filler), patch.Text(strings.Repeat(" ", int(n-least))), tail.New, patch.Bytes(infos)),
		"new tensors, and room for more keys")
	b.shifts++
	return nil
}

// tables sees that tensors change their size by whole blocks, or at the end.
func (b *placer) tables() error {
	p := b.part
	for i := range p.Tensors {
		t := &p.Tensors[i]
		c, ok := b.editor.tensors[t]
		if !ok {
			continue
		}
		if c.remove {
			return b.refuse("taking tensor %s away would move all data after it", clip(t.Name))
		}
		grows := pad(c.size(), p.Alignment) - pad(t.Size, p.Alignment)
		switch {
		case grows == 0 || p.DataStart+pad(t.Offset+t.Size, p.Alignment) >= p.Size:
		case grows < 0:
			e := b.refuse("tensor %s becomes %d bytes smaller, and the data after it would move", clip(t.Name), -grows)
			e.Tensor = t
			return e
		case b.block == 0:
			e := b.refuse("tensor %s grows by %d bytes, and the data after it cannot be moved", clip(t.Name), grows)
			e.Tensor = t
			return e
		case grows%b.block != 0:
			e := b.refuse("tensor %s grows by %d bytes, no whole number of blocks of %d", clip(t.Name), grows, b.block)
			e.Tensor, e.Rows, e.Fit = t, c.shape[1], b.fits(t, c.shape[1])
			return e
		default:
			b.shifts++
		}
	}
	return nil
}

// fits are the numbers of rows next to the wanted one by which a tensor would
// grow by whole blocks.
func (b *placer) fits(t *Tensor, rows int64) []int64 {
	fit := func(n int64) bool {
		return (pad(n*t.RowBytes(), b.part.Alignment)-pad(t.Size, b.part.Alignment))%b.block == 0
	}
	var out []int64
	for n := rows - 1; n > t.Rows() && n > rows-b.block; n-- {
		if fit(n) {
			out = append(out, n)
			break
		}
	}
	for n := rows + 1; n <= rows+b.block; n++ {
		if fit(n) {
			return append(out, n)
		}
	}
	return out
}
