package relative

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Folded is T5's bias of one length: exporters fold the table and its buckets
// into matrices of heads, queries and keys (facts/ONNX-PATTERNS §5).
type Folded struct {
	site.Other
	classes map[int]int
	result  fit.BucketResult
}

// folded tells a folded bias of T5's buckets from other biases of constants; nil
// if it is none.
func (b *bias) folded(e position.Encoding) *Folded {
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
		return &Folded{site.Other{Base: site.Base{Detected: e}}, classes, r}
	}
	return nil
}

// Store agrees to more positions where every distance of theirs has a bucket that
// is in the matrices: those are grown with the other constants of the length.
func (f *Folded) Store(want position.Want) error {
	if b, ok := want.Scheme.(schemes.Buckets); !ok || !b.Equal(f.result.Buckets) {
		return f.Other.Store(want)
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
					Instead: "export the model with a free sequence length, or for this length"}
			}
		}
	}
	return nil
}

// FoldedBuckets are T5's buckets behind matrices of heads, queries and keys.
type FoldedBuckets struct {
	heads   [][][]float64
	classes map[int]int
	result  fit.BucketResult
}

// FoldedBucketsIn finds the buckets behind matrices by head, query and key, or behind
// biases by them; false if they are none.
func FoldedBucketsIn(heads [][][]float64) (*FoldedBuckets, bool) {
	classes, ok := (&bias{heads: heads}).classes(0)
	if !ok {
		return nil, false
	}
	r, ok := fit.Buckets(classes)
	return &FoldedBuckets{heads, classes, r}, ok
}

// Likeness maps each relative position 1−n … n−1, at its index from 0 on, to one
// inside the matrices with the same bias: itself if inside, the outermost if that is
// masked, else one of its bucket. It is false where a bucket was not seen.
func (f *FoldedBuckets) Likeness(n int) (like []int, ok bool) {
	r, classes, heads := f.result, f.classes, f.heads
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
