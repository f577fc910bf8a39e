// Package blocked computes attention in float64 in blocks of queries and keys, with the
// sums of the softmax corrected as larger scores come (Milakov and Gimelshein 2018; Dao et
// al. 2022, algorithm 1): memory grows with the positions, never with their square.
//
// Start with Head.Attend.
package blocked

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/modelpatch/modelpatch/internal/matrix"
)

// Head is one head of attention: out = softmax(cap(scale·query·keyᵀ) + bias)·value.
// Matrices are row-major, a row a position.
type Head struct {
	Queries, Keys int
	Dim, ValueDim int // elements of a query or key, and of a value

	Query, Key, Value []float64
	Scale             float64 // multiplies query·key
	Softcap           float64 // c of c·tanh(score/c); 0: none
	Sink              []float64
	// Causal masks keys behind the query; the first query stands at the first key.
	Causal bool
	// Bias adds to the scores of a query those of the keys first … first+len(scores)−1,
	// −∞ to mask one; nil adds nothing. It is called by several goroutines at once. An
	// error ends Attend.
	Bias func(query, first int, scores []float64) error
}

// Sizes of blocks: keys and values of a block stay in the second cache.
const (
	queryBlock = 128
	keyBlock   = 128
)

// Attend computes the head's output, a row of ValueDim elements for each query, on as
// many cores as there are. A query that sees no key has zeros. The error is Bias's.
func (h *Head) Attend() ([]float64, error) {
	out := make([]float64, h.Queries*h.ValueDim)
	blocks := (h.Queries + queryBlock - 1) / queryBlock
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(blocks, 1)) {
		group.Go(func() {
			w := h.worker()
			for failed.Load() == nil {
				b := int(next.Add(1)) - 1
				if b >= blocks {
					return
				}
				b = blocks - 1 - b // of a causal head, the longest first
				if err := w.queries(b*queryBlock, min(queryBlock, h.Queries-b*queryBlock), out); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return out, nil
}

// worker holds what one goroutine computes with.
type worker struct {
	h              *Head
	scores         []float64 // [query][key] of a block
	keys           []float64 // of a block, packed by columns
	values         []float64
	query, sums    []float64
	highest, total [queryBlock]float64
}

func (h *Head) worker() *worker {
	return &worker{h: h, scores: make([]float64, queryBlock*keyBlock), keys: make([]float64, matrix.Padded(keyBlock)*h.Dim), values: make([]float64, matrix.Padded(h.ValueDim)*keyBlock),
		query: make([]float64, queryBlock*h.Dim), sums: make([]float64, queryBlock*matrix.Padded(h.ValueDim))}
}

// queries computes n queries from one on.
func (w *worker) queries(first, n int, out []float64) error {
	h := w.h
	rows := (n + rowsAtOnce - 1) / rowsAtOnce * rowsAtOnce
	clear(w.query[:rows*h.Dim])
	for i, x := range h.Query[first*h.Dim : (first+n)*h.Dim] {
		w.query[i] = x * h.Scale
	}
	width := matrix.Padded(h.ValueDim)
	clear(w.sums[:rows*width])
	for q := range n {
		w.highest[q], w.total[q] = math.Inf(-1), 0
		for _, x := range h.Sink {
			w.highest[q], w.total[q] = x, 1
		}
	}
	last := h.Keys
	if h.Causal {
		last = min(last, first+n)
	}
	for k := 0; k < last; k += keyBlock {
		m := min(keyBlock, last-k)
		w.pack(k, m)
		clear(w.scores[:rows*keyBlock])
		product(w.scores, keyBlock, w.query, h.Dim, w.keys, rows, m)
		for q := range n {
			if err := w.weigh(first+q, q, k, m); err != nil {
				return err
			}
		}
		for q := n; q < rows; q++ {
			clear(w.scores[q*keyBlock : q*keyBlock+m])
		}
		accumulate(w.sums, width, w.scores, keyBlock, w.values, rows, m)
	}
	for q := range n {
		if w.total[q] == 0 {
			continue
		}
		for i, x := range w.sums[q*width : q*width+h.ValueDim] {
			out[(first+q)*h.ValueDim+i] = x / w.total[q]
		}
	}
	return nil
}

// pack copies m keys and values from one on into panels of columnsAtOnce columns.
func (w *worker) pack(first, m int) {
	h := w.h
	for panel := 0; panel < m; panel += columnsAtOnce {
		to := w.keys[panel*h.Dim : (panel+columnsAtOnce)*h.Dim]
		for c := range columnsAtOnce {
			if panel+c >= m {
				for i := range h.Dim {
					to[i*columnsAtOnce+c] = 0
				}
				continue
			}
			for i, x := range h.Key[(first+panel+c)*h.Dim : (first+panel+c+1)*h.Dim] {
				to[i*columnsAtOnce+c] = x
			}
		}
	}
	for panel := 0; panel < matrix.Padded(h.ValueDim); panel += columnsAtOnce {
		to := w.values[panel*keyBlock : (panel+columnsAtOnce)*keyBlock]
		n := min(columnsAtOnce, h.ValueDim-panel)
		for k := range m {
			row := to[k*columnsAtOnce : (k+1)*columnsAtOnce]
			copy(row, h.Value[(first+k)*h.ValueDim+panel:][:n])
			clear(row[n:])
		}
	}
}

// weigh makes weights of the scores of query number q of the block, and corrects what was
// summed so far.
func (w *worker) weigh(query, q, first, m int) error {
	h := w.h
	scores := w.scores[q*keyBlock : q*keyBlock+m]
	if h.Softcap > 0 {
		for i, x := range scores {
			scores[i] = h.Softcap * math.Tanh(x/h.Softcap)
		}
	}
	seen := m
	if h.Causal {
		seen = min(m, max(query+1-first, 0))
		clear(scores[seen:])
		scores = scores[:seen]
	}
	if h.Bias != nil && seen > 0 {
		if err := h.Bias(query, first, scores); err != nil {
			return err
		}
	}
	highest := w.highest[q]
	for _, x := range scores {
		if x > highest {
			highest = x
		}
	}
	if math.IsInf(highest, -1) {
		clear(scores)
		return nil
	}
	if highest > w.highest[q] {
		f := math.Exp(w.highest[q] - highest)
		w.total[q] *= f
		width := matrix.Padded(h.ValueDim)
		sums := w.sums[q*width : (q+1)*width]
		for i := range sums {
			sums[i] *= f
		}
		w.highest[q] = highest
	}
	w.total[q] += exponentials(scores, highest)
	return nil
}
