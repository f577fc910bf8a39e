package rows

import (
	"crypto/sha256"
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
)

// Copies finds tables that are copies of one another: exporters write the same
// constant once per use.
type Copies struct {
	Spend func(elements int)        // of what is looked at
	known map[string][]*onnx.Tensor // by type, dimensions and the first elements
}

// maxAlike bounds the tables that begin alike and are compared whole.
const maxAlike = 8

// Of returns a constant met before with the content of t, nil when there is none: then
// t has been met.
func (c *Copies) Of(t *onnx.Tensor) *onnx.Tensor {
	const begins = 1 << 12
	first, err := t.Raw(0, min(begins, t.Len()))
	if err != nil {
		return nil
	}
	key := fmt.Sprintf("%v %v %x", t.Type, t.Dims, sha256.Sum256(first))
	for _, k := range c.known[key] {
		if c.same(k, t) {
			return k
		}
	}
	if c.known == nil {
		c.known = map[string][]*onnx.Tensor{}
	}
	if len(c.known[key]) < maxAlike {
		c.known[key] = append(c.known[key], t)
	}
	return nil
}

// same compares two constants of one type and shape.
func (c *Copies) same(a, b *onnx.Tensor) bool {
	if a.DataFile() == b.DataFile() && a.Range() == b.Range() {
		return true
	}
	const step = 1 << 14
	for at, n := int64(0), a.Len(); at < n; at += step {
		c.Spend(step)
		x, err1 := a.Raw(at, min(step, n-at))
		y, err2 := b.Raw(at, min(step, n-at))
		if err1 != nil || err2 != nil || string(x) != string(y) {
			return false
		}
	}
	return true
}
