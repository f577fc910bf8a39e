package fit

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/schemes"
)

// ramp is the state of explaining frequencies that start on one line and end
// on a parallel one, s times slower: YaRN and Llama 3.
type ramp struct {
	v         vector
	n         int
	base      float64
	baseError float64   // relative; 0 when base is a number that somebody chose
	plain     []float64 // base^(−i/n)
	q         []float64 // f/plain: 1 where kept, 1/s where divided
	slack     []float64 // how far ln q may be off
	factor    float64   // s; 0: not known
}

// reading is one way to see a ramp.
type reading struct {
	rotary    schemes.Rotary
	low, high float64 // YaRN
	residual  float64
	nice      bool // its parameters are numbers that somebody chose
	agrees    bool // its amplitude is the one that is known, or none is
	why       string
}

// explainRamp tries YaRN and Llama 3 with every base that the undivided
// frequencies allow, those that somebody may have chosen first.
func explainRamp(v vector, p Precision, o Options) (Result, bool) {
	if !v.startsPlain() {
		return Result{}, false
	}
	for _, c := range v.baseCandidates(o) {
		if c.relative > 0 { // no number that somebody chose
			if r, ok := v.usualBase(p, o); ok {
				return r, true
			}
		}
		if readings := newRamp(v, c.base, c.relative).readings(p, o); len(readings) > 0 {
			return choose(readings), true
		}
	}
	return v.usualBase(p, o)
}

// usualBase explains a ramp that leaves too few pairs undivided to tell a base by the usual one, where the
// amplitude is that of the factor which the frequencies give.
func (v vector) usualBase(p Precision, o Options) (Result, bool) {
	if !(o.Amplitude > 1+p.amplitudeError()) {
		return Result{}, false
	}
	agreed := slices.DeleteFunc(newRamp(v, DefaultBase, 0).readings(p, o), func(r reading) bool { return !r.agrees })
	if len(agreed) == 0 {
		return Result{}, false
	}
	return choose(agreed), true
}

// startsPlain reports whether there are enough frequencies for a ramp, and the
// first is 1.
func (v vector) startsPlain() bool {
	return len(v.f) >= 4 && math.Abs(v.y[0]) <= v.limit(0)
}

// choose puts the reading first whose scaling has the amplitude that is known,
// then the one that has numbers somebody chose, else the one that misses least.
func choose(readings []reading) Result {
	slices.SortStableFunc(readings, func(a, b reading) int {
		switch {
		case a.agrees != b.agrees && a.agrees:
			return -1
		case a.agrees != b.agrees:
			return 1
		case a.nice != b.nice && a.nice:
			return -1
		case a.nice != b.nice:
			return 1
		case a.residual < b.residual:
			return -1
		}
		return 1
	})
	best := readings[0]
	r := Result{Rotary: best.rotary, Residual: best.residual, RampLow: best.low, RampHigh: best.high,
		Why: best.why, Denominator: schemes.DenominatorHalf}
	for _, other := range readings[1:] {
		r.Also = append(r.Also, other.rotary)
	}
	return r
}

type baseCandidate struct{ base, relative float64 }

// baseCandidates are the bases that the first frequencies allow. How many are
// undivided is not known: a ramp that begins gently passes as a line for a
// while, so shorter prefixes are tried as well.
func (v vector) baseCandidates(o Options) []baseCandidate {
	var all []baseCandidate
	add := func(base, relative float64) {
		for _, c := range all {
			if c.base == base {
				return
			}
		}
		if base > 1 && !math.IsInf(base, 1) {
			all = append(all, baseCandidate{base, relative})
		}
	}
	if o.Base > 0 {
		add(o.Base, 0)
	}
	prefix := 2
	for prefix < len(v.f) && v.onLine(v.fitLine(0, prefix+1, true), 0, prefix+1) {
		prefix++
	}
	n := float64(len(v.f))
	var raw []baseCandidate
	for _, k := range []int{prefix, prefix - 1, prefix - 2, prefix - 3, prefix - 4, prefix / 2, prefix / 3} {
		if k < 2 {
			continue
		}
		slope, relative := v.fitLine(0, k, true).slope, v.baseError(k)
		if joint, jointError, ok := v.jointSlope(slope, relative, k); ok {
			b := math.Exp(joint * n)
			add(v.snap(b, jointError), 0)
			raw = append(raw, baseCandidate{b, jointError})
		}
		b := math.Exp(slope * n)
		if round, digits := roundest(b, relative); digits <= roundDigits && !v.asMeasured {
			add(round, 0)
		}
		raw = append(raw, baseCandidate{b, relative})
	}
	raw = append(raw, v.suffixBase(add)...)
	for _, c := range raw {
		add(c.base, c.relative)
	}
	return all
}

// suffixBase reads bases off the last frequencies alone: where the ramp begins
// at the first pair, only those that are divided stand on a line.
func (v vector) suffixBase(add func(base, relative float64)) []baseCandidate {
	var out []baseCandidate
	n := len(v.f)
	for _, k := range []int{n - 2, 3 * n / 4, n / 2, n / 3} {
		if k < 3 || !v.onLine(v.fitLine(n-k, n, false), n-k, n) {
			continue
		}
		base := math.Exp(v.fitLine(n-k, n, false).slope * float64(n))
		relative := v.suffixError(n-k, n)
		add(v.snap(base, relative), 0)
		out = append(out, baseCandidate{base, relative})
	}
	return out
}

// jointSlope refits the slope with the frequencies at the end that are divided
// by one factor, if there are such: a longer lever.
func (v vector) jointSlope(slope, relative float64, prefix int) (joint, jointError float64, ok bool) {
	n := len(v.f)
	first := n
	var low, high = math.Inf(-1), math.Inf(1)
	for i := n - 1; i >= prefix; i-- {
		d := v.y[i] - slope*float64(i)
		reach := v.limit(i) + relative*float64(n-1-i)/float64(n)
		low, high = max(low, d-reach), min(high, d+reach)
		if low > high {
			break
		}
		first = i
	}
	if n-first < 3 {
		return 0, 0, false
	}
	// Two groups on lines of one slope, the second with a free offset.
	var a11, a12, a22, b1, b2 float64
	for i := range n {
		if i >= prefix && i < first {
			continue
		}
		x, w := float64(i), 1/(v.sigma[i]*v.sigma[i])
		a11, b1 = a11+w*x*x, b1+w*x*v.y[i]
		if i >= first {
			a12, a22, b2 = a12+w*x, a22+w, b2+w*v.y[i]
		}
	}
	joint = (b1*a22 - b2*a12) / (a11*a22 - a12*a12)
	return joint, min(v.baseError(prefix), v.suffixError(first, n)), true
}

func newRamp(v vector, base, relative float64) *ramp {
	n := len(v.f)
	r := &ramp{v: v, n: n, base: base, baseError: relative}
	r.plain = schemes.Rotary{Base: base, Dim: 2 * n}.PlainFrequencies()
	r.q, r.slack = make([]float64, n), make([]float64, n)
	for i := range n {
		r.q[i] = v.f[i] / r.plain[i]
		r.slack[i] = v.limit(i) + relative*float64(i)/float64(n)
	}
	return r
}

// readings are all that fit with this base.
func (r *ramp) readings(p Precision, o Options) []reading {
	var all []reading
	for _, s := range r.factors(p, o) {
		r.factor = s
		for _, try := range []func() (reading, bool){r.yarn, r.llama3} {
			if found, ok := try(); ok {
				all = append(all, found)
			}
		}
		if len(all) > 0 {
			return agreeing(all, p, o)
		}
	}
	r.factor = 0
	for _, try := range []func() (reading, bool){r.openYaRN, r.openLlama3} {
		if found, ok := try(); ok {
			all = append(all, found)
		}
	}
	return agreeing(all, p, o)
}

// agreeing marks the readings that the amplitude of cos and sin speaks for:
// YaRN's is 0.1·ln s + 1 (Peng et al. 2023, §3.4), Llama 3 has none.
func agreeing(all []reading, p Precision, o Options) []reading {
	for i := range all {
		want := all[i].rotary.Amplitude() // none is stated: the type's own
		all[i].agrees = o.Amplitude == 0 || math.Abs(o.Amplitude-want) <= 10*p.amplitudeError()
	}
	return all
}

// factors are what s may be: from the plateau at the end, or from YaRN's
// amplitude.
func (r *ramp) factors(p Precision, o Options) []float64 {
	var all []float64
	var weight, sum, least = 0.0, 0.0, math.Inf(1)
	low, high, length := math.Inf(-1), math.Inf(1), 0
	for i := r.n - 1; i >= 0; i-- {
		if math.IsInf(r.slack[i], 1) {
			continue
		}
		lq := math.Log(r.q[i])
		low, high = max(low, lq-r.slack[i]), min(high, lq+r.slack[i])
		if low > high {
			break
		}
		w := 1 / (r.slack[i] * r.slack[i])
		weight, sum, least, length = weight+w, sum+w*lq, min(least, r.slack[i]), length+1
	}
	if s := math.Exp(-sum / weight); length >= 2 && s > 1+2*least {
		all = append(all, r.v.snap(s, least))
		if all[0] != s {
			all = append(all, s)
		}
	}
	if o.Amplitude > 1+p.amplitudeError() {
		// A = 0.1·ln s + 1
		s := math.Exp(10 * (o.Amplitude - 1))
		all = append(all, r.v.snap(s, 10*p.amplitudeError()))
	}
	return all
}

// kept is the share of pair i that is not divided, 1 … 0, and its error.
func (r *ramp) kept(i int) (share, err float64) {
	span := 1 - 1/r.factor
	return (r.q[i] - 1/r.factor) / span, r.slack[i] * r.q[i] / span
}

// interior are the pairs that lie on the slope.
func (r *ramp) interior() (inside []int, firstDivided int) {
	firstDivided = r.n
	for i := range r.n {
		g, e := r.kept(i)
		if math.IsInf(e, 1) {
			continue
		}
		if g > e && g < 1-e {
			inside = append(inside, i)
		}
		if g <= e {
			firstDivided = min(firstDivided, i)
		}
	}
	return inside, firstDivided
}

// lineThrough fits y = a + b·x over points with errors.
func lineThrough(x, y, err []float64) (a, b float64) {
	var w, wx, wxx, wy, wxy float64
	for i := range x {
		k := 1 / (err[i] * err[i])
		w, wx, wxx, wy, wxy = w+k, wx+k*x[i], wxx+k*x[i]*x[i], wy+k*y[i], wxy+k*x[i]*y[i]
	}
	b = (w*wxy - wx*wy) / (w*wxx - wx*wx)
	return (wy - b*wx) / w, b
}

// shares are the points (x of pair, kept share, error) of the interior.
func (r *ramp) shares(inside []int, x func(i int) float64) (xs, ys, errs []float64) {
	for _, i := range inside {
		g, e := r.kept(i)
		xs, ys, errs = append(xs, x(i)), append(ys, g), append(errs, e)
	}
	return xs, ys, errs
}

// yarn explains the slope as straight in the index.
func (r *ramp) yarn() (reading, bool) {
	inside, divided := r.interior()
	type bounds struct {
		low, high float64
		whole     bool
	}
	var tries []bounds
	switch len(inside) {
	case 0:
		// Adjacent bounds make a step; no usual length does.
		tries = []bounds{{float64(divided - 1), float64(divided), false}}
	case 1:
		i := float64(inside[0])
		g, _ := r.kept(inside[0])
		// Of all bounds that one point allows, those that reach a neighbour.
		tries = []bounds{{i - 1, i + 1, true}, {i - 1, i + g/(1-g), false}, {i + 1 - 1/g, i + 1, false}}
	default:
		a, b := lineThrough(r.shares(inside, func(i int) float64 { return float64(i) }))
		low, high := (1-a)/b, -a/b
		for _, dl := range []float64{0, -1, 1} {
			for _, dh := range []float64{0, -1, 1} {
				tries = append(tries, bounds{math.Round(low) + dl, math.Round(high) + dh, true})
			}
		}
		tries = append(tries, bounds{low, high, false})
	}
	for _, t := range tries {
		if t.low < 0 || t.high <= t.low {
			continue
		}
		if residual, ok := r.explains(func(i int) float64 { return yarnKept(i, t.low, t.high) }); ok {
			return r.yarnReading(t.low, t.high, t.whole, residual)
		}
	}
	return reading{}, false
}

func yarnKept(i int, low, high float64) float64 {
	return 1 - min(max((float64(i)-low)/(high-low), 0), 1)
}

// explains compares all frequencies with those of a kept share.
func (r *ramp) explains(kept func(i int) float64) (float64, bool) {
	f := make([]float64, r.n)
	for i := range f {
		g := kept(i)
		f[i] = r.plain[i] * (g + (1-g)/r.factor)
	}
	return r.v.explains(f)
}

func (r *ramp) yarnReading(low, high float64, whole bool, residual float64) (reading, bool) {
	out := reading{low: low, high: high, residual: residual, nice: whole}
	out.why = fmt.Sprintf("a ramp straight in the index from %.4g to %.4g, then 1/%g", low, high, r.factor)
	s := schemes.Scaling{Type: schemes.ScalingYaRN, Factor: r.factor, NoTruncate: !whole}
	out.rotary = schemes.Rotary{Base: r.base, Dim: 2 * r.n, Scaling: s}
	if length, ok := r.yarnLength(low, high, whole); ok {
		s.OriginalLength, s.BetaFast, s.BetaSlow = length, schemes.DefaultBetaFast, schemes.DefaultBetaSlow
		with := out.rotary.WithScaling(s)
		if residual, ok := r.v.explains(with.InverseFrequencies()); ok {
			out.rotary, out.residual, out.nice = with, residual, true
		}
	}
	return out, true
}

// longestOriginal bounds the original lengths that are thought of.
const longestOriginal = 1 << 24

// yarnLength is the original length under the default betas. Rounded bounds
// leave a range, in which one power of two must lie; unrounded ones must agree.
func (r *ramp) yarnLength(low, high float64, whole bool) (int, bool) {
	d := 2 * float64(r.n)
	at := func(turns, index float64) float64 { return 2 * math.Pi * turns * math.Pow(r.base, 2*index/d) }
	if !whole {
		const agree = 1e-2
		a, b := at(schemes.DefaultBetaFast, low), at(schemes.DefaultBetaSlow, high)
		if math.Abs(a/b-1) > agree {
			return 0, false
		}
		return snapLength((a+b)/2, agree)
	}
	least, most := at(schemes.DefaultBetaFast, low), at(schemes.DefaultBetaFast, low+1)
	if low == 0 {
		least = 0
	}
	least = max(least, at(schemes.DefaultBetaSlow, high-1))
	if high < d-1 {
		most = min(most, at(schemes.DefaultBetaSlow, high))
	}
	return powerWithin(least, most)
}

// snapLength is the power of two, else the round whole number, within the
// relative error of x.
func snapLength(x, relative float64) (int, bool) {
	if !(x >= 1 && x <= longestOriginal) {
		return 0, false
	}
	power := math.Exp2(math.Round(math.Log2(x)))
	if math.Abs(power/x-1) <= relative {
		return int(power), true
	}
	round, digits := roundest(x, relative)
	return int(math.Round(round)), digits <= roundDigits && round == math.Round(round)
}

// llama3 explains the slope as straight in the frequency.
func (r *ramp) llama3() (reading, bool) {
	inside, divided := r.interior()
	type bounds struct {
		length, ratio float64
		nice          bool
	}
	var tries []bounds
	add := func(length, ratio, relative float64) {
		if whole, ok := snapLength(length, relative); ok {
			if round, digits := roundest(ratio, relative); digits <= 2 {
				tries = append(tries, bounds{float64(whole), round, true})
			}
		}
		tries = append(tries, bounds{length, ratio, false})
	}
	switch len(inside) {
	case 0:
		if divided == 0 || divided == r.n {
			return reading{}, false
		}
		return r.llama3Step(divided)
	case 1:
		i := inside[0]
		g, e := r.kept(i)
		for _, ratio := range []float64{4, 2, 3, 8, 16} {
			// f = f_low·(1 + g·(ratio−1)), and the length is the wave of f_low.
			length := 2 * math.Pi * (1 + g*(ratio-1)) / r.plain[i]
			if whole, ok := snapLength(length, e*(ratio-1)/(1+g*(ratio-1))+r.slack[i]); ok {
				tries = append(tries, bounds{float64(whole), ratio, true})
			}
		}
	default:
		xs, ys, errs := r.shares(inside, func(i int) float64 { return r.plain[i] })
		a, b := lineThrough(xs, ys, errs)
		low, high := -a/b, (1-a)/b
		relative := slices.Max(errs) / float64(len(errs)) * 4
		add(2*math.Pi/low, high/low, relative)
	}
	for _, t := range tries {
		if !(t.length > 0) || !(t.ratio > 1) {
			continue
		}
		residual, ok := r.explains(func(i int) float64 { return llama3Kept(t.length*r.plain[i]/(2*math.Pi), t.ratio) })
		if ok {
			return r.llama3Reading(t.length, t.ratio, t.nice, residual), true
		}
	}
	return reading{}, false
}

// llama3Kept is the share kept of a frequency of the given turns, for the low
// bound 1.
func llama3Kept(turns, ratio float64) float64 {
	return min(max((turns-1)/(ratio-1), 0), 1)
}

func (r *ramp) llama3Reading(length, ratio float64, nice bool, residual float64) reading {
	return reading{
		residual: residual, nice: nice,
		why: fmt.Sprintf("a ramp straight in the frequency, waves of %.6g to %.6g, then 1/%g", length/ratio, length, r.factor),
		rotary: schemes.Rotary{Base: r.base, Dim: 2 * r.n, Scaling: schemes.Scaling{
			Type: schemes.ScalingLlama3, Factor: r.factor, LowFreqFactor: 1, HighFreqFactor: ratio,
			OriginalLength: int(math.Round(length)),
		}},
	}
}

// llama3Step is low = high (Llama 4): the length lies between two waves, and is
// the power of two there; where there is none, or several, it is not known.
func (r *ramp) llama3Step(divided int) (reading, bool) {
	least, most := 2*math.Pi/r.plain[divided-1], 2*math.Pi/r.plain[divided]
	residual, ok := r.explains(func(i int) float64 {
		if i < divided {
			return 1
		}
		return 0
	})
	length, one := powerWithin(least, most)
	out := r.llama3Reading(float64(length), 1, one, residual)
	if !one {
		s := &out.rotary.Scaling
		s.OriginalLength, s.LowFreqFactor, s.HighFreqFactor = 0, 0, 0
		out.why = fmt.Sprintf("a step between waves of %.6g and %.6g, then 1/%g", least, most, r.factor)
	}
	return out, ok
}

// powerWithin is the power of two from least to most, if it is the only one.
func powerWithin(least, most float64) (length int, one bool) {
	count := 0
	for l := 1; l <= longestOriginal; l *= 2 {
		if float64(l) >= least && float64(l) <= most {
			length, count = l, count+1
		}
	}
	return length, count == 1
}

// openYaRN is a YaRN whose ramp leaves the vector: of s and the ramp's end only
// (1−1/s)/(high−low) is known.
func (r *ramp) openYaRN() (reading, bool) {
	first, xs, ys, errs := r.openSlope(func(i int) float64 { return float64(i) })
	if len(xs) < 3 {
		return reading{}, false
	}
	a, b := lineThrough(xs, ys, errs)
	low := (1 - a) / b
	for _, l := range []float64{math.Round(low), low} {
		if l < 0 || l > float64(first) {
			continue
		}
		whole := l != low
		drop := -b
		if whole {
			drop = r.openDrop(l, first)
		}
		f := make([]float64, r.n)
		for i := range f {
			f[i] = r.plain[i] * (1 - drop*max(float64(i)-l, 0))
		}
		if residual, ok := r.v.explains(f); ok && drop > 0 {
			return r.openYaRNReading(l, drop, whole, residual), true
		}
	}
	return reading{}, false
}

// openSlope are the pairs behind the undivided ones, all on the slope.
func (r *ramp) openSlope(x func(i int) float64) (first int, xs, ys, errs []float64) {
	for first < r.n && math.Abs(math.Log(r.q[first])) <= r.slack[first] {
		first++
	}
	for i := first; i < r.n; i++ {
		if !math.IsInf(r.slack[i], 1) {
			xs, ys, errs = append(xs, x(i)), append(ys, r.q[i]), append(errs, r.slack[i]*r.q[i])
		}
	}
	return first, xs, ys, errs
}

// openDrop is the slope of a ramp that starts at low.
func (r *ramp) openDrop(low float64, first int) float64 {
	var num, den float64
	for i := first; i < r.n; i++ {
		if w := 1 / (r.slack[i] * r.slack[i]); w > 0 {
			x := float64(i) - low
			num, den = num+w*x*(1-r.q[i]), den+w*x*x
		}
	}
	return num / den
}

// openYaRNReading leaves the factor open. Also tells what it would be for the
// one power of two that the start of the ramp allows.
func (r *ramp) openYaRNReading(low, drop float64, whole bool, residual float64) reading {
	out := reading{low: low, residual: residual, nice: whole}
	out.rotary = schemes.Rotary{Base: r.base, Dim: 2 * r.n, Scaling: schemes.Scaling{Type: schemes.ScalingYaRN, NoTruncate: !whole}}
	out.why = fmt.Sprintf("a ramp straight in the index from %.4g to beyond the last pair: (1−1/s)/(high−low) is %.6g", low, drop)
	return out
}

// openLlama3 is a Llama 3 whose slowest frequencies are still on the slope,
// read with the usual bounds 1 and 4.
func (r *ramp) openLlama3() (reading, bool) {
	const ratio = 4
	_, xs, ys, errs := r.openSlope(func(i int) float64 { return r.plain[i] })
	if len(xs) < 3 {
		return reading{}, false
	}
	a, b := lineThrough(xs, ys, errs)
	low := (1 - a) / b / ratio
	length, ok := snapLength(2*math.Pi/low, 0.02)
	if !ok {
		return reading{}, false
	}
	r.factor = r.v.snap(1/(a+b*low), 0.02)
	defer func() { r.factor = 0 }()
	if !(r.factor > 1) {
		return reading{}, false
	}
	residual, ok := r.explains(func(i int) float64 { return llama3Kept(float64(length)*r.plain[i]/(2*math.Pi), ratio) })
	return r.llama3Reading(float64(length), ratio, true, residual), ok
}
