package schemes

import "sort"

// RampBounds are the bounds of the scaling's ramp, in pairs, with another base and original length.
func (r Rotary) RampBounds(base float64, length int) [2]float64 {
	return r.Scaling.Kind().Bounds(r, base, length)
}

// SameRamp is the least and the greatest original length that give the same ramp: its bounds are rounded.
func (r Rotary) SameRamp() (least, most int) {
	n := r.Scaling.OriginalLength
	same := r.RampBounds(r.Base, n)
	least = 1 + sort.Search(n-1, func(k int) bool { return r.RampBounds(r.Base, 1+k) == same })
	return least, n + sort.Search(n, func(k int) bool { return r.RampBounds(r.Base, n+k+1) != same })
}

// UsualLength is a length such as models have, a power of two or three or five
// times one, within bounds and other than the one given; 0: there is none.
func UsualLength(least, most, other int) int {
	for power := 1; power <= most; power *= 2 {
		for _, n := range []int{power, 3 * power, 5 * power} {
			if n >= least && n <= most && n != other {
				return n
			}
		}
	}
	return 0
}
