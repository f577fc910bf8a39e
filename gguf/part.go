package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
)

// Part is one file of a model: the only one, or a shard.
type Part struct {
	Path      string
	Info      fs.FileInfo // as it was when Open opened it
	Size      int64
	Version   uint32
	Order     binary.ByteOrder
	Alignment int64
	HeaderEnd int64 // end of the tensor infos
	DataStart int64 // HeaderEnd, padded to the alignment
	Pairs     []Pair
	Tensors   []Tensor
	Oddities  []Oddity
	r         io.ReaderAt
	distant   io.ReaderAt // the same, where the part is no file on a disk
	index     map[string]int
}

// Oddity is something unusual about a file that can still be read.
type Oddity struct {
	Rule    string // stable word, also the rule of a finding
	Says    string
	Key     string
	Tensor  string
	At      int64
	Refused bool // llama.cpp refuses a file with it
}

// readPart reads the header of one file.
func readPart(c *cursor, path string) (*Part, error) {
	p := &Part{Path: path, Size: c.size, r: c.r}
	c.what = "header"
	tensors, pairs := p.head(c)
	p.Pairs = c.pairs(pairs)
	p.index = make(map[string]int, len(p.Pairs))
	for i := range p.Pairs {
		p.index[p.Pairs[i].Key] = i
	}
	p.Tensors = c.tensors(tensors, 0)
	p.HeaderEnd = c.at()
	p.align(c)
	p.places(c)
	if c.err != nil {
		c.err.Path = path
		return nil, c.err
	}
	p.look()
	return p, nil
}

// head reads magic, version and counts. Nothing is allocated by the counts.
func (p *Part) head(c *cursor) (tensors, pairs uint64) {
	if magic := c.take(4, "the magic number"); c.err == nil && string(magic) != "GGUF" {
		c.fail(0, "not a GGUF file: it starts with %q", magic)
		return 0, 0
	}
	if b := c.take(4, "the version"); c.err == nil {
		// All of a file is in one byte order, the magic apart; the version tells
		// which, as it is small (facts/GGUF-FACTS §a).
		if binary.LittleEndian.Uint32(b)&0xFFFF == 0 {
			c.order = binary.BigEndian
		}
		p.Order, p.Version = c.order, c.order.Uint32(b)
	}
	if c.err == nil && p.Version != 2 && p.Version != 3 {
		c.fail(4, "GGUF version %d is not supported, 2 and 3 are", p.Version)
		c.hint(versionHint(p.Version))
	}
	tensors, pairs = c.u64("the number of tensors"), c.u64("the number of keys")
	switch {
	case c.err != nil:
	case pairs > MaxPairs:
		c.fail(16, "the key-value pair count is %d; the limit is %d", pairs, MaxPairs)
	case tensors > MaxTensors:
		c.fail(8, "the tensor count is %d; the limit is %d", tensors, MaxTensors)
	case pairs > c.rest()/leastPair:
		c.fail(16, "truncated: the key-value pair count is %d, the file has %d bytes more", pairs, c.rest())
	case tensors > c.rest()/leastTensor:
		c.fail(8, "truncated: the tensor count is %d, the file has %d bytes more", tensors, c.rest())
	}
	return tensors, pairs
}

func versionHint(v uint32) string {
	if v < 2 {
		return "version 1 had other field sizes: convert the model again with a current converter"
	}
	return "the file is newer than this program, or damaged"
}

// align finds the alignment and with it the start of the data.
func (p *Part) align(c *cursor) {
	p.Alignment = 32
	if pair := p.Find("general.alignment"); pair != nil && c.err == nil {
		n, _ := pair.Uint()
		c.what, c.key = "keys", pair.Key
		switch {
		case pair.Type != TypeUint32:
			c.fail(pair.TypeAt, "alignment has type %s, not u32", pair.Type)
		case n == 0 || n&(n-1) != 0 || n > MaxAlignment:
			c.fail(pair.ValueAt, "alignment %d is not a power of two up to %d", n, MaxAlignment)
		default:
			p.Alignment = int64(n)
		}
		c.key = ""
	}
	p.DataStart = pad(p.HeaderEnd, p.Alignment)
}

// pad rounds n up to a multiple of a power of two.
func pad(n, alignment int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// Find returns a key's pair, or nil.
func (p *Part) Find(key string) *Pair {
	if i, ok := p.index[key]; ok {
		return &p.Pairs[i]
	}
	return nil
}

// look notes what is unusual and can still be read.
func (p *Part) look() {
	if p.Order == binary.BigEndian {
		p.odd(Oddity{Rule: "gguf-big-endian", Says: "the file is big-endian; engines on little-endian machines refuse it"})
	}
	if p.Alignment < 8 {
		p.odd(Oddity{Rule: "gguf-alignment-small", Key: "general.alignment",
			Says: fmt.Sprintf("alignment %d: engines that map the file into memory want 32 or more", p.Alignment)})
	}
	for i := range p.Pairs {
		if p.Pairs[i].nested {
			p.odd(Oddity{Rule: "gguf-nested-array", Key: p.Pairs[i].Key, At: p.Pairs[i].At, Refused: true,
				Says: "an array of arrays: the format allows it, llama.cpp refuses it"})
		}
	}
	for i := range p.Tensors {
		p.lookAt(&p.Tensors[i])
	}
}

// lookAt notes what is unusual about a tensor.
func (p *Part) lookAt(t *Tensor) {
	switch {
	case t.Name == "":
		p.odd(Oddity{Rule: "gguf-tensor-name-empty", At: t.infoAt, Says: "a tensor's name is empty"})
	case len(t.Name) > EngineNameBytes:
		p.odd(Oddity{Rule: "gguf-tensor-name-long", Tensor: t.Name, At: t.infoAt, Refused: true,
			Says: fmt.Sprintf("a tensor's name has %d bytes; llama.cpp reads at most %d", len(t.Name), EngineNameBytes)})
	}
	if !t.Known() {
		p.odd(Oddity{Rule: "gguf-tensor-type-unknown", Tensor: t.Name, At: t.typeAt,
			Says: fmt.Sprintf("storage type %d is not known; its bytes up to the next tensor are left as they are", uint32(t.Type))})
	}
}

func (p *Part) odd(o Oddity) { p.Oddities = append(p.Oddities, o) }
