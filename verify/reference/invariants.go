package reference

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/modelpatch/modelpatch/schemes"
)

// invariantTolerance is how far what a formula's own laws say may be missed, relative:
// float64 with some roundings.
const invariantTolerance = 1e-12

// Invariants checks what must hold of an encoding's formula, whatever its parameters; ""
// where it does, or where the scheme has no such law. Rotations keep norms (times their
// amplitude), and R(m)ᵀR(n) = R(n−m), so that scores depend on distances alone; ALiBi's
// slopes fall by one ratio; a distance of T5 has the bucket of the exact integer rule;
// PE(p+k) of sinusoids is one rotation of PE(p), and rows are distinct.
func Invariants(s schemes.Scheme) string {
	switch s := s.(type) {
	case schemes.Rotary:
		return rotaryInvariants(s)
	case schemes.ALiBi:
		return alibiInvariants(s)
	case schemes.Buckets:
		return bucketInvariants(s)
	case schemes.Sinusoid:
		return sinusoidInvariants(s)
	}
	return ""
}

// probed are positions at which laws are tried: near, and far enough that angles wrap.
var probed = []int{0, 1, 2, 7, 61, 1024}

func rotaryInvariants(r schemes.Rotary) string {
	n := r.Pairs()
	if n < 1 || r.Base <= 0 || r.Scaling.IsCustom() || r.ByPlace() || r.Dim%2 != 0 {
		return ""
	}
	amplitude := r.Amplitude()
	at := func(p float64) (cos, sin []float64) {
		cos, sin = make([]float64, n), make([]float64, n)
		r.Rotation(p, cos, sin)
		return cos, sin
	}
	for _, m := range probed {
		for _, k := range probed {
			cm, sm := at(float64(m))
			cn, sn := at(float64(m + k))
			cd, sd := at(float64(k))
			angle := float64(m + k) // roundings of an angle grow with it
			for i := range n {
				norm := cm[i]*cm[i] + sm[i]*sm[i]
				if math.Abs(norm-amplitude*amplitude) > invariantTolerance*amplitude*amplitude {
					return fmt.Sprintf("the rotation of position %d does not keep norms (pair %d: %g, not %g)", m, i, norm, amplitude*amplitude)
				}
				cos, sin := cm[i]*cn[i]+sm[i]*sn[i], cm[i]*sn[i]-sm[i]*cn[i]
				allowed := invariantTolerance * amplitude * amplitude * math.Max(1, angle/64)
				if math.Abs(cos-amplitude*cd[i]) > allowed || math.Abs(sin-amplitude*sd[i]) > allowed {
					return fmt.Sprintf("from position %d to %d a pair turns otherwise than from 0 to %d (pair %d)", m, m+k, k, i)
				}
			}
		}
	}
	return ""
}

// slopeTolerance is how far slopes that files store as float32 may be from one ratio.
const slopeTolerance = 1e-6

func alibiInvariants(a schemes.ALiBi) string {
	if a.Count() < 2 || a.MaxBias <= 0 {
		return ""
	}
	n := 1 << (bits.Len(uint(a.Count())) - 1)
	want := math.Exp2(-a.MaxBias / float64(n))
	for _, h := range a.Sample() {
		if h == 0 || h >= n {
			continue
		}
		if ratio := a.Slope(h) / a.Slope(h-1); math.Abs(ratio/want-1) > slopeTolerance {
			return fmt.Sprintf("the slope of head %d is %g of the one before, not %g", h, ratio, want)
		}
	}
	return ""
}

// exactBucket is T5's bucket of a distance by integers alone: the largest k with
// (m/e)^(n−e) ≥ (D/e)^k (facts/NUMERICS §6).
func exactBucket(b schemes.Buckets, distance int) int {
	n, first := b.Buckets, 0
	m := -distance
	if b.Bidirectional {
		n /= 2
		if distance > 0 {
			first = n
		}
		if m < 0 {
			m = -m
		}
	} else if m < 0 {
		m = 0
	}
	e := n / 2
	if m < e {
		return first + m
	}
	k := 0
	for k+1 < n-e && atLeast(m, e, n-e, b.MaxDistance, k+1) {
		k++
	}
	return first + min(e+k, n-1)
}

// atLeast reports whether (m/e)^a ≥ (d/e)^k in logarithms, and by whole numbers where they
// are too close to tell.
func atLeast(m, e, a, d, k int) bool {
	left, right := float64(a)*math.Log(float64(m)/float64(e)), float64(k)*math.Log(float64(d)/float64(e))
	if math.Abs(left-right) > 1e-9 {
		return left > right
	}
	return true // equal powers: m is the first of its bucket
}

func bucketInvariants(b schemes.Buckets) string {
	if b.Buckets < 4 || b.MaxDistance <= b.Buckets/2 {
		return ""
	}
	for d := -2 * b.MaxDistance; d <= 2*b.MaxDistance; d++ {
		if got, want := b.Bucket(d), exactBucket(b, d); got != want {
			return fmt.Sprintf("a distance of %d has bucket %d, not %d", d, got, want)
		}
	}
	return ""
}

func sinusoidInvariants(s schemes.Sinusoid) string {
	if s.Grid != nil || s.Base <= 0 || s.Dim < 2 || s.Dim%2 != 0 {
		return ""
	}
	s.ZeroRows, s.Recipe = nil, schemes.RecipeExact // the law is the formula's
	row := func(p int) []float64 {
		out := make([]float64, s.Dim)
		s.Row(p+s.Offset, out)
		return out
	}
	amplitude := s.Amplitude
	if amplitude == 0 {
		amplitude = 1
	}
	want := float64(s.Dim/2) * amplitude * amplitude
	for _, p := range probed {
		// The product of two rows depends on their distance alone.
		for _, k := range []int{1, 5} {
			a, b := dot(row(p), row(p+k)), dot(row(1), row(1+k))
			if math.Abs(a-b) > invariantTolerance*want*math.Max(1, float64(p)/16) {
				return fmt.Sprintf("positions %d and %d are related otherwise than 1 and %d", p, p+k, 1+k)
			}
			if a >= want {
				return fmt.Sprintf("positions %d and %d have the same row", p, p+k)
			}
		}
	}
	return ""
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
