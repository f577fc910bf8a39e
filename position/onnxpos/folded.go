package onnxpos

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// foldedBias is T5's bias of one length: exporters fold the table and its buckets
// into matrices of heads, queries and keys (facts/ONNX-PATTERNS §5).
type foldedBias struct {
	Other
	classes map[int]int
	result  fit.BucketResult
}

// folded tells a folded bias of T5's buckets from other biases of constants; nil
// if it is none.
func (b *bias) folded(e position.Encoding) *foldedBias {
	b = b.unmasked()
	queries, keys := len(b.heads[0]), len(b.heads[0][0])
	for _, ahead := range keysAhead(queries, keys) {
		classes, ok := b.classes(ahead)
		if !ok {
			continue
		}
		r, ok := fit.Buckets(classes)
		if !ok {
			continue
		}
		r.Heads = len(b.heads)
		e.Scheme = r.Buckets
		says := "distances share a bias as T5's buckets put them together"
		if len(r.Also) > 0 {
			says += fmt.Sprintf("; the largest distance is the usual one of %d that fit", len(r.Also)+1)
		}
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: says})
		return &foldedBias{Other{Base{Told: e}}, classes, r}
	}
	return nil
}

// Hold agrees to more positions where every distance of theirs has a bucket that
// is in the matrices: those are grown with the other constants of the length.
func (f *foldedBias) Hold(want position.Want) error {
	if b, ok := want.Scheme.(schemes.Buckets); !ok || !b.Equal(f.result.Buckets) {
		return f.Other.Hold(want)
	}
	far := 0
	for d := range f.classes {
		far = max(far, d, -d)
	}
	for _, way := range []int{-1, 1} {
		if _, seen := f.classes[way*far]; !seen { // masked
			continue
		}
		for d := far + 1; d < want.Positions; d++ {
			if _, ok := f.result.Like(f.classes, way*d); !ok {
				return &position.Refusal{Why: fmt.Sprintf("the biases stand in the graph for distances up to %d; what bias the distance of %d has is not in the file", far, d),
					Instead: "export the model with a free sequence length, or for this one"}
			}
		}
	}
	return nil
}

// growBuckets extends matrices of T5's buckets, or of biases by them, where those
// of all new distances were seen; nil if they are none.
func (c *lengthChange) growBuckets(t *onnx.Tensor, n int) *plannedConstant {
	k := len(t.Dims)
	old := int(t.Dims[k-1])
	x := numbers(t)
	outer := rows.Size(t.Dims[:k-2])
	if x == nil {
		return nil
	}
	heads := make([][][]float64, outer)
	for h := range heads {
		heads[h] = make([][]float64, old)
		for q := range old {
			at := (h*old + q) * old
			heads[h][q] = x[at : at+old]
		}
	}
	b := &bias{heads: heads}
	classes, ok := b.classes(0)
	if !ok {
		return nil
	}
	r, ok := fit.Buckets(classes)
	if !ok {
		return nil
	}
	dims := append([]int64(nil), t.Dims...)
	dims[k-2], dims[k-1] = int64(n), int64(n)
	if !c.holds(t, dims, outer, n, n) {
		return nil
	}
	like, ok := likeness(r, classes, heads, n)
	if !ok {
		return nil
	}
	matrices := make([]byDistances, outer)
	for o := range matrices {
		matrices[o] = distancesOf(x[o*old*old:(o+1)*old*old], old)
	}
	return &plannedConstant{dims: dims, why: fmt.Sprintf("buckets of %d×%d positions", n, n),
		fill: rows.SquareFill(n, func(o, distance int) float64 { return matrices[o].at(like[distance+n-1]) })}
}

// likeness gives for each relative position from 1 − n to n − 1 one within the
// matrix that has the same bias: itself, where it is within; what the last is,
// where that is masked.
func likeness(r fit.BucketResult, classes map[int]int, heads [][][]float64, n int) (like []int, ok bool) {
	old := len(heads[0])
	for _, m := range heads { // what is masked depends on the distance alone, too
		for q := range old {
			for k := range old {
				want := m[0][max(k-q, 0)]
				if k < q {
					want = m[q-k][0]
				}
				if x := m[q][k]; x != want && !(math.IsNaN(x) && math.IsNaN(want)) {
					return nil, false
				}
			}
		}
	}
	like = make([]int, 2*n-1)
	for d := 1 - n; d < n; d++ {
		within := min(max(d, 1-old), old-1)
		_, seen := classes[within]
		if like[d+n-1] = within; within == d || !seen {
			continue
		}
		if like[d+n-1], ok = r.Like(classes, d); !ok {
			return nil, false
		}
	}
	return like, true
}
