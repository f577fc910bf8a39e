package eval

import "fmt"

// broadcast merges shapes by the rule of numpy.
func broadcast(shapes ...[]int) ([]int, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make([]int, rank)
	for i := range out {
		out[i] = 1
	}
	for _, s := range shapes {
		for i := range s {
			at := len(out) - len(s) + i
			switch {
			case out[at] == s[i] || s[i] == 1:
			case out[at] == 1:
				out[at] = s[i]
			default:
				return nil, fmt.Errorf("shapes %v do not broadcast: %d against %d", shapes, out[at], s[i])
			}
		}
	}
	return out, nil
}

// walker maps elements of a broadcast shape to those of one operand.
type walker struct{ strides []int }

func newWalker(shape, out []int) walker {
	w := walker{make([]int, len(out))}
	stride := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 {
			w.strides[len(out)-len(shape)+i] = stride
		}
		stride *= shape[i]
	}
	return w
}

// each calls visit with the offsets of every element in the operands.
func each(out []int, walkers []walker, visit func(i int, at []int)) {
	eachRow(out, walkers, func(i, n int, at, steps []int) {
		for end := i + n; i < end; i++ {
			visit(i, at)
			for k, step := range steps {
				at[k] += step
			}
		}
		for k, step := range steps {
			at[k] -= step * n
		}
	})
}

// eachRow calls visit with runs of n elements from element i on, as long as each
// operand can be gone through in equal steps: at is where it begins in each.
func eachRow(out []int, walkers []walker, visit func(i, n int, at, steps []int)) {
	n := 1
	for _, size := range out {
		n *= size
	}
	if n == 0 {
		return
	}
	index, at, steps := make([]int, len(out)), make([]int, len(walkers)), make([]int, len(walkers))
	row, outer := 1, len(out)
	for ; outer > 0; outer-- {
		size := out[outer-1]
		if size == 1 {
			continue
		}
		fits := true
		for k := range walkers {
			fits = fits && (row == 1 || walkers[k].strides[outer-1] == steps[k]*row)
		}
		if !fits {
			break
		}
		if row == 1 {
			for k := range walkers {
				steps[k] = walkers[k].strides[outer-1]
			}
		}
		row *= size
	}
	for i := 0; i < n; i += row {
		visit(i, row, at, steps)
		for d := outer - 1; d >= 0; d-- {
			index[d]++
			for k := range walkers {
				at[k] += walkers[k].strides[d]
			}
			if index[d] < out[d] {
				break
			}
			for k := range walkers {
				at[k] -= walkers[k].strides[d] * out[d]
			}
			index[d] = 0
		}
	}
}
