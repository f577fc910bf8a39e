package gguf

import (
	"encoding/binary"
	"math/bits"
)

// pairs reads n key-value pairs.
func (c *cursor) pairs(n uint64) []Pair {
	var out []Pair
	seen := map[string]int64{}
	for ; n > 0 && c.err == nil; n-- {
		c.what, c.key = "keys", ""
		p := Pair{At: c.at()}
		p.Key = c.short("a key")
		if c.err == nil && p.Key == "" {
			c.fail(p.At, "a key is empty")
		}
		c.key = p.Key
		if first, twice := seen[p.Key]; twice {
			c.fail(p.At, "duplicate key, first at byte %d: readers disagree which value counts", first)
		}
		seen[p.Key] = p.At
		c.value(&p)
		out = append(out, p)
	}
	c.key = ""
	return out
}

// value reads a value's type and the value, or its span.
func (c *cursor) value(p *Pair) {
	p.TypeAt = c.at()
	p.Type = ValueType(c.u32("a value type"))
	p.ValueAt = c.at()
	switch {
	case c.err != nil:
	case !p.Type.Known():
		c.fail(p.TypeAt, "value of unknown type %d: its length cannot be known", uint32(p.Type))
	case p.Type == TypeString:
		p.Count = c.stringLength()
		if p.Count <= shortText {
			p.text = string(c.take(int(p.Count), "a string"))
		} else {
			c.skip(p.Count, "a string")
		}
	case p.Type == TypeArray:
		c.array(p)
	default:
		p.bits = c.scalar(p.Type.size())
	}
	p.End = c.at()
}

// scalar reads n bytes as an unsigned number.
func (c *cursor) scalar(n uint64) uint64 {
	b := c.take(int(n), "a value")
	if b == nil {
		return 0
	}
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(c.order.Uint16(b))
	case 4:
		return uint64(c.order.Uint32(b))
	}
	return c.order.Uint64(b)
}

// stringLength reads a string's length and holds it against the file.
func (c *cursor) stringLength() uint64 {
	at := c.at()
	n := c.u64("the length of a string")
	switch {
	case c.err != nil:
		return 0
	case n > c.rest():
		c.fail(at, "truncated: a string's length is %d bytes, the file has %d more", n, c.rest())
		c.hint("the file is incomplete or its header is wrong: download it again")
		return 0
	case n > MaxString:
		c.fail(at, "a string's length is %d bytes, more than %d", n, MaxString)
		return 0
	}
	return n
}

// array passes over an array, noting its type and count.
func (c *cursor) array(p *Pair) {
	p.Elem, p.Count = c.arrayHead()
	p.nested = p.Elem == TypeArray && c.err == nil
	if before := c.lists[p.Key]; before != nil && p.Elem == before.Elem && p.Count == before.Count {
		const head = 12 // type and count
		c.skip(uint64(before.End-before.ValueAt-head), "a list of strings")
		return
	}
	c.elements(p.Elem, p.Count, 1)
}

// arrayHead reads an array's element type and count, bounded by the file.
func (c *cursor) arrayHead() (ValueType, uint64) {
	at := c.at()
	elem := ValueType(c.u32("an array's type"))
	if c.err == nil && !elem.Known() {
		c.fail(at, "array of unknown type %d: its length cannot be known", uint32(elem))
	}
	at = c.at()
	n := c.u64("an array's length")
	if c.err != nil {
		return 0, 0
	}
	least := elem.size()
	switch elem {
	case TypeString:
		least = 8
	case TypeArray:
		least = 12
	}
	switch {
	case n > c.rest()/least:
		c.fail(at, "truncated: an array of %d elements of type %s, the file has %d bytes more", n, elem, c.rest())
		c.hint("the file is incomplete or its header is wrong: download it again")
	case n > MaxArray:
		c.fail(at, "an array of %d elements, more than %d", n, MaxArray)
	}
	return elem, n
}

// elements passes over n elements. depth counts arrays in arrays.
func (c *cursor) elements(elem ValueType, n uint64, depth int) {
	switch {
	case c.err != nil:
	case elem == TypeString:
		c.strings(n)
	case elem == TypeArray:
		if depth >= MaxNesting {
			c.fail(c.at(), "arrays nested more than %d deep", MaxNesting)
			return
		}
		for ; n > 0 && c.err == nil; n-- {
			inner, count := c.arrayHead()
			c.elements(inner, count, depth+1)
		}
	default:
		c.skip(n*elem.size(), "an array")
	}
}

// strings passes over n strings: the tokenizer's lists, by far the longest
// part of a header.
func (c *cursor) strings(n uint64) {
	for c.err == nil {
		if n -= c.stringsInWindow(n); n == 0 {
			return
		}
		c.skip(c.stringLength(), "a string")
		n--
	}
}

// stringsInWindow passes over those of the next n strings that are whole in the
// window and says how many they are. It looks at bytes directly: half a million
// strings are most of what reading a header takes.
func (c *cursor) stringsInWindow(n uint64) (passed uint64) {
	b, swapped := c.buf[c.pos:], c.order == binary.BigEndian
	for ; passed < n && len(b) >= 8; passed++ {
		size := binary.LittleEndian.Uint64(b)
		if swapped {
			size = bits.ReverseBytes64(size)
		}
		if size > uint64(len(b)-8) {
			break
		}
		b = b[8+size:]
	}
	c.pos = len(c.buf) - len(b)
	return passed
}
