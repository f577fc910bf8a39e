package reference

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Explained is what a file computes of an attention itself, held against the formula
// that its report tells.
type Explained struct {
	// Terms are the parts of the formula that were found to act: "rotary", "causal mask".
	Terms []string
	// Unturned says which heads, or how many of the first tokens, a model that turns queries and keys leaves as they are, and what becomes of
	// keys of the graph's own; "": nothing of that.
	Unturned string
	// Wrong says what the file computes otherwise than its report says; "": nothing.
	Wrong string
	// Unknown says what the formula does not make, so that only the file's own numbers
	// can be taken; "": nothing.
	Unknown string
	// Difference is the largest of scores and outputs, relative to the largest of them;
	// Allowed is what the file's storage makes of it.
	Difference, Allowed float64
	Head, Position      int // where it is
}

// Tolerances of what a file computes against its formula.
const (
	// roundoff: two orders of the same float64 sums.
	roundoff = 1e-12
	// floatAngle is how far a float32 cosine of a float32 angle is from the exact one, by
	// position and at the least (facts/NUMERICS §1).
	floatAngle = 2e-7
	// floatBias is how far a bias that a graph computes in float32, by a few steps, is
	// from exact, relative to the largest.
	floatBias = 4e-6
	// eightBits is what products of numbers of eight bits, 1/127 of the largest apart, leave open at most, relative to the largest.
	eightBits = 5e-2
)

// storage is the relative step of a storage type.
func storage(dtype string) float64 {
	switch dtype {
	case "":
		return 0
	case "float16":
		return 1e-3
	case "bfloat16":
		return 8e-3
	case "float64":
		return 0
	}
	return 1.2e-7
}

// Explain holds the scores and outputs that the file computes against the formula.
// Everything is given a reason: what the formula does not make is never left out.
func (r *Reference) Explain() (*Explained, error) {
	e := &Explained{}
	t := r.Trial
	if len(t.Heads) == 0 || t.Heads[0].Scores == nil {
		return e, nil // the formula is what there is
	}
	angle := 0.0
	for _, turn := range r.rotations {
		e.Terms = append(e.Terms, position.ID(turn.encoding)+" rotary")
		angle = math.Max(angle, floatAngle*float64(max(t.Queries, t.Keys))+math.Max(storage(t.Dtype), storage(r.Model.Sites()[turn.encoding].Encoding().Dtype)))
	}
	if h := t.Heads[0]; h.Softcap > 0 {
		e.Terms = append(e.Terms, "soft cap")
	}
	if len(t.Heads[0].Sink) > 0 {
		e.Terms = append(e.Terms, "attention sink")
	}
	e.Allowed = roundoff + 4*angle
	if r.explainProducts(e, angle); e.Wrong != "" {
		// Some take pairs apart first and turn halves of them, queries and keys alike.
		other := *e
		other.Wrong = ""
		for i := range r.rotations {
			swapLayout(&r.rotations[i].rotary)
		}
		if r.explainProducts(&other, angle); other.Wrong != "" || len(r.rotations) == 0 {
			if says := r.untold(); says != "" {
				e.Wrong, e.Unknown = "", says
			} else if t.Rounding != "" && e.Difference <= eightBits {
				e.Wrong, e.Unknown = "", "queries or keys are rounded ("+t.Rounding+"), and what stands beside that is not read"
			}
			return e, nil
		}
		e.Wrong = ""
		e.Terms = append(e.Terms, "pairs rearranged")
	}
	r.explainMask(e)
	if e.Wrong != "" {
		return e, nil
	}
	switch {
	case e.Unknown != "":
	case t.Relative != "":
		e.Unknown = "scores hold " + t.Relative + r.named()
	default:
		if err := r.explainBias(e); err != nil {
			return e, err
		}
	}
	r.taken = e.Unknown != ""
	return e, r.explainOutput(e)
}

// untold is what the schemes of the rotations do not tell of them; "" where they tell all.
func (r *Reference) untold() string {
	for _, turn := range r.rotations {
		if u, ok := r.Model.Sites()[turn.encoding].(interface{ Untold() string }); ok && u.Untold() != "" {
			return u.Untold()
		}
	}
	return ""
}

// explainProducts holds query·key as the file multiplies them against turned ones. Of a model that turns queries and keys, the
// first tokens may stay as they are, in every head the same, or some heads.
func (r *Reference) explainProducts(e *Explained, angle float64) {
	r.ahead, r.still = 0, nil
	allowed := roundoff + 4*angle
	r.findTurning(&r.Trial.Heads[0], allowed)
	var still []int
	turned := false
	for i := range r.Trial.Heads {
		h := &r.Trial.Heads[i]
		worst, scale, at := r.productsApart(h, 0)
		fits := worst <= allowed*scale
		if !fits && !turned && r.Trial.Past == 0 && len(r.rotations) > 0 {
			for r.ahead = 1; r.ahead < min(r.Trial.Queries, r.Trial.Keys)-1 && !fits; {
				if w, _, _ := r.productsApart(h, r.Trial.Queries-1); w <= 2*allowed*scale { // all of them for each would take the cube of the length
					w, s, _ := r.productsApart(h, 0)
					fits = w <= allowed*s
				}
				if !fits {
					r.ahead++
				}
			}
			if !fits {
				r.ahead = 0
			}
		}
		if fits {
			turned = true
			continue
		}
		r.stays(h.Head, true)
		if w, s, _ := r.productsApart(h, 0); w <= allowed*s && len(r.rotations) > 0 && e.Wrong == "" {
			still = append(still, h.Head)
			e.Head, e.Position, e.Difference = h.Head, at, worst/scale
			continue
		}
		r.stays(h.Head, false)
		r.turnedOtherwise(e, h.Head, at, worst, scale)
		return
	}
	if len(still) > 0 && !turned {
		r.turnedOtherwise(e, e.Head, e.Position, e.Difference, 1)
		return
	}
	not := slices.Clone(turnings[r.turning])
	if len(still) > 0 {
		not = append(not, fmt.Sprintf("heads that are not turned: %v", still))
	}
	if r.ahead > 0 {
		not = append(not, fmt.Sprintf("the first %d tokens are not turned", r.ahead))
	}
	e.Unturned = strings.Join(not, ", ")
	e.Terms = append(e.Terms, not...)
	if e.Wrong == "" {
		e.Head, e.Position, e.Difference = 0, 0, 0
	}
}

// Which of queries and keys are turned, and from where on positions count: those of keys of the graph's own in one run, and behind them those
// of two sequences (findTurning).
const (
	allTurned    = iota // both, and positions go on behind keys ahead of those of the tokens, as behind a cache
	ownUnturned         // such keys that come from no cache are not, and positions begin behind them
	ownTurned           // they are turned as the others, and positions go on
	ownFirst            // they are turned as the others, and queries count from 0 beside them
	queriesAlone        // of two sequences that of the queries
	keysAlone           // or that of the keys
)

// turnings are what is told of that.
var turnings = [][]string{allTurned: nil, ownUnturned: {"keys of the graph's own ahead of the tokens are not turned"}, ownTurned: {"keys of the graph's own ahead of the tokens are turned as well"},
	ownFirst:     {"keys of the graph's own ahead of the tokens are turned as well, and queries are counted without them"},
	queriesAlone: {"keys of the other sequence are not turned"}, keysAlone: {"queries are not turned, and the other sequence's keys are"}}

// findTurning finds which of these makes the products of a head; the first where none does.
func (r *Reference) findTurning(h *trial.Head, allowed float64) {
	for r.turning = range turnings {
		own, crosses := r.turning >= ownUnturned && r.turning <= ownFirst, r.turning >= queriesAlone
		if own && !r.Trial.Own || crosses && !r.Attention.Crosses {
			continue
		}
		if worst, scale, _ := r.productsApart(h, 0); worst <= allowed*scale {
			return
		}
	}
	r.turning = allTurned
}

// stays notes whether a head is not turned.
func (r *Reference) stays(head int, still bool) {
	if r.still == nil {
		r.still = map[int]bool{}
	}
	if r.still[head] = still; !still {
		delete(r.still, head)
	}
}

// turnedOtherwise says that queries and keys of a head are turned otherwise than the report says.
func (r *Reference) turnedOtherwise(e *Explained, head, query int, worst, scale float64) {
	e.Wrong = fmt.Sprintf("queries and keys are turned otherwise than the report says (head %d, query %d: apart by %.3g of %.3g)", head, query, worst, scale)
	if len(r.rotations) == 0 {
		e.Wrong = fmt.Sprintf("queries and keys are turned, and the report names no rotation here (head %d, query %d)", head, query)
	}
	e.Head, e.Position, e.Difference = head, query, worst/scale
}

// productsApart is how far the products of a head's queries, from one on, and its keys are from those that the file multiplies, of
// which size, and where.
func (r *Reference) productsApart(h *trial.Head, from int) (worst, scale float64, at int) {
	query, key := r.turnedHead(h)
	for q := from; q < len(query); q++ {
		for k := range key {
			sum, size := 0.0, 0.0
			for c, x := range query[q] {
				sum += x * key[k][c]
				size += math.Abs(x * key[k][c])
			}
			scale = math.Max(scale, size)
			if d := math.Abs(sum - h.Products[q][k]); !(d <= worst) {
				worst, at = d, q
			}
		}
	}
	return worst, math.Max(scale, 1e-30), at
}

// swapLayout takes halves for pairs, and pairs for halves.
func swapLayout(r *schemes.Rotary) {
	if r.Layout == schemes.LayoutInterleaved {
		r.Layout = schemes.LayoutHalf
	} else {
		r.Layout = schemes.LayoutInterleaved
	}
}

// explainMask reads what is masked: what the report says must be, and what more is.
func (r *Reference) explainMask(e *Explained) {
	a, t := r.Attention, r.Trial
	before, behind, masked, seen := 0, 0, 0, 0
	window := 0
	for i := range t.Heads {
		h := &t.Heads[i]
		for q := range h.Bias {
			for k := range h.Bias[q] {
				if !h.Masked(q, k) {
					if seen++; k > q+t.Past {
						behind++
					} else {
						window = max(window, q+t.Past-k+1)
					}
					continue
				}
				if masked++; k <= q+t.Past {
					before++
				}
			}
		}
	}
	causal := behind == 0 && t.Keys > 1 && (masked > before || t.Queries == 1)
	switch {
	case a.Causal && !causal:
		e.Wrong = "queries see keys behind them, and the attention was read as causal"
	case !a.Causal && causal && t.Queries > 1 && before == 0:
		e.Unknown = "keys behind the queries are masked, which was not read"
	case causal && before == 0:
		e.Terms = append(e.Terms, "causal mask")
	case causal && before > 0:
		e.Terms = append(e.Terms, fmt.Sprintf("causal mask with a window of %d", window))
	case masked > 0:
		e.Terms = append(e.Terms, fmt.Sprintf("a mask of %d of %d keys as the file makes it", masked, masked+seen))
	}
}

// explainBias finds which biases of the report make what the file adds: all that act, one
// of them, or none. A constant of a row takes no part in its softmax.
func (r *Reference) explainBias(e *Explained) error {
	candidates := [][]position.Biaser{nil, r.biases}
	for _, b := range r.biases {
		candidates = append(candidates, []position.Biaser{b})
	}
	best := math.Inf(1)
	scale := 0.0
	for _, c := range candidates {
		apart, size, err := r.biasApart(c)
		if err != nil {
			return err
		}
		scale = math.Max(scale, size)
		if apart < best {
			best, r.biases = apart, c
		}
	}
	if best > floatBias*math.Max(scale, 1) {
		e.Unknown = fmt.Sprintf("a bias is added to the scores that no formula makes (up to %.3g beside what one does)", best) + r.named()
		return nil
	}
	e.Allowed += 2 * floatBias * math.Max(scale, 1)
	if len(r.biases) == 0 {
		e.Allowed -= 2 * floatBias * math.Max(scale, 1)
		if best > 0 {
			e.Allowed += 2 * best
		}
	}
	for range r.biases {
		e.Terms = append(e.Terms, "bias")
	}
	return nil
}

// biasApart is the largest difference of what the file adds and the sum of biases, and
// the largest of either, after a row's first seen key was taken away.
func (r *Reference) biasApart(biases []position.Biaser) (apart, size float64, err error) {
	t := r.Trial
	for i := range t.Heads {
		h := &t.Heads[i]
		for q := range h.Bias {
			own, made := math.NaN(), math.NaN()
			for k, x := range h.Bias[q] {
				if h.Masked(q, k) {
					continue
				}
				sum := 0.0
				for _, b := range biases {
					y, err := b.Bias(h.Head%max(r.Attention.Heads, 1), q+t.Past, k, t.Keys)
					if err != nil {
						return math.Inf(1), size, nil // this bias has no such head: it acts elsewhere
					}
					sum += y
				}
				if math.IsNaN(own) {
					own, made = x, sum
				}
				size = math.Max(size, math.Max(math.Abs(x-own), math.Abs(sum-made)))
				apart = math.Max(apart, math.Abs(x-own-(sum-made)))
			}
		}
	}
	return apart, size, nil
}

// named tells the encodings that a bias may come from and that are no formula here.
func (r *Reference) named() string {
	var names []string
	for i, s := range r.Model.Sites() {
		if o, ok := s.Encoding().Scheme.(schemes.Other); ok && o.Name() != report.SchemeNone {
			names = append(names, fmt.Sprintf("%s (%s)", position.ID(i), o))
		}
	}
	if len(names) == 0 {
		return "; the report names no encoding that makes it"
	}
	return "; " + strings.Join(names, ", ") + " may"
}

// explainOutput holds the weighted values that the file computes against the formula's.
func (r *Reference) explainOutput(e *Explained) error {
	for i := range r.Trial.Heads {
		h := &r.Trial.Heads[i]
		out, err := r.Output(h)
		if err != nil {
			return err
		}
		score, scale := 1.0, 0.0
		for q := range h.Scores {
			for k, x := range h.Scores[q] {
				if !h.Masked(q, k) {
					score = math.Max(score, math.Abs(x))
				}
			}
		}
		worst, at := 0.0, 0
		for q := range out {
			if len(out[q]) != len(h.Output[q]) {
				return fmt.Errorf("an output of %d elements, not %d", len(h.Output[q]), len(out[q]))
			}
			if allMasked(h, q) {
				continue // files differ in what a query is given that sees nothing
			}
			for c, x := range out[q] {
				scale = math.Max(scale, math.Abs(x))
				if d := math.Abs(x - h.Output[q][c]); !(d <= worst) {
					worst, at = d, q
				}
			}
		}
		if rel := worst / math.Max(scale, 1e-30); !(rel <= e.Difference) {
			e.Difference, e.Head, e.Position = rel, h.Head, at
		}
		if allowed := e.Allowed * 4 * score; !(worst <= allowed*math.Max(scale, 1e-30)) {
			e.Wrong = fmt.Sprintf("the output is not that of the formula (head %d, position %d: apart by %.3g of %.3g)", h.Head, at, worst, scale)
			e.Head, e.Position = h.Head, at
			return nil
		}
	}
	return nil
}

func allMasked(h *trial.Head, query int) bool {
	for k := range h.Bias[query] {
		if !h.Masked(query, k) {
			return false
		}
	}
	return true
}
