package schemes

import (
	"fmt"
	"math"
	"slices"
)

// Kernel is how a grid of position rows is resampled to another size, which
// differs between image models (facts/NUMERICS §9).
type Kernel struct {
	Name         string
	Cubic        bool
	Nearest      bool
	Antialias    bool
	AlignCorners bool
}

// Kernels are the ways that image models resample, the usual one first: ViT,
// DeiT, CLIP, SigLIP, BEiT, MAE and DINOv2; DINOv2 with registers; DPT, Pvt;
// SigLIP 2; Qwen3-VL and ViLT; TimeSformer.
var Kernels = []Kernel{
	{Name: "bicubic", Cubic: true},
	{Name: "bicubic-antialias", Cubic: true, Antialias: true},
	{Name: "bilinear"},
	{Name: "bilinear-antialias", Antialias: true},
	{Name: "bilinear-align-corners", AlignCorners: true},
	{Name: "nearest", Nearest: true},
}

// AlongTime is how the rows of a grid with an axis of time are resampled along it where the kernel resamples its rows and
// columns: linearly, or as it does where it takes the nearest. With bilinear that is the trilinear of V-JEPA.
func (k Kernel) AlongTime() Kernel {
	if k.Nearest {
		return k
	}
	return Kernel{Name: "linear"}
}

// KernelNamed returns the kernel of a name.
func KernelNamed(name string) (Kernel, error) {
	for _, k := range Kernels {
		if k.Name == name {
			return k, nil
		}
	}
	return Kernel{}, fmt.Errorf("no kernel %q", name)
}

// tap is a source coordinate and its weight.
type tap struct {
	at     int
	weight float64
}

// cubic is Keys' convolution kernel (Keys 1981, eq. 4) with parameter a.
func cubic(x, a float64) float64 {
	x = math.Abs(x)
	switch {
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

// Parameters of Keys' kernel as PyTorch has them: without and with antialias.
const (
	cubicPlain     = -0.75
	cubicAntialias = -0.5
)

// taps are the weights of one axis: for each new coordinate the old ones that
// it is made of. Coordinates beyond the border are those at it.
func (k Kernel) taps(old, new int) [][]tap {
	out := make([][]tap, new)
	scale := float64(old) / float64(new)
	for i := range out {
		switch {
		case old == new:
			out[i] = []tap{{i, 1}}
		case k.Nearest: // as torch.nn.functional.interpolate does, which rounds down
			out[i] = []tap{{min(i*old/new, old-1), 1}}
		case k.Antialias:
			out[i] = k.wide(i, old, scale)
		case k.AlignCorners:
			x := 0.0
			if new > 1 {
				x = float64(i) * float64(old-1) / float64(new-1)
			}
			out[i] = linear(x, old)
		case k.Cubic:
			x := (float64(i)+0.5)*scale - 0.5
			first := int(math.Floor(x))
			for d := -1; d <= 2; d++ {
				out[i] = append(out[i], tap{min(max(first+d, 0), old-1), cubic(x-float64(first+d), cubicPlain)})
			}
		default:
			out[i] = linear(math.Max((float64(i)+0.5)*scale-0.5, 0), old)
		}
	}
	return out
}

func linear(x float64, old int) []tap {
	first := min(int(x), old-1)
	part := x - float64(first)
	return []tap{{first, 1 - part}, {min(first+1, old-1), part}}
}

// wide is a kernel that widens when the grid shrinks, cut at the border and
// normalised.
func (k Kernel) wide(i, old int, scale float64) []tap {
	stretch := math.Max(scale, 1)
	support := stretch
	if k.Cubic {
		support *= 2
	}
	centre := (float64(i) + 0.5) * scale
	first := max(int(centre-support+0.5), 0)
	last := min(int(centre+support+0.5), old)
	var out []tap
	sum := 0.0
	for j := first; j < last; j++ {
		x := (float64(j) + 0.5 - centre) / stretch
		w := math.Max(1-math.Abs(x), 0)
		if k.Cubic {
			w = cubic(x, cubicAntialias)
		}
		out = append(out, tap{j, w})
		sum += w
	}
	for j := range out {
		out[j].weight /= sum
	}
	return out
}

// Resampled is a table of grid rows at another size: row prefix + y·W + x.
type Resampled struct {
	rows         [][]float64
	prefix, tail int
	old          Rows
	gridRows     int
}

// maxGridElements bounds a grid that is resampled in memory.
const maxGridElements = 1 << 28

// ResampleRows resamples the rows of a grid in a table, which stand behind a prefix: along time, then along its height
// and width. Rows before and after them stay: class and other tokens.
func ResampleRows(old Rows, prefix int, from, to Grid, k Kernel) (*Resampled, error) {
	n := from.Places()
	dim := old.Dim()
	switch {
	case slices.Min(from[:]) < 1 || slices.Min(to[:]) < 1 || prefix < 0 || prefix+n > old.Len():
		return nil, fmt.Errorf("a grid of %s after %d rows does not fit a table of %d rows", from, prefix, old.Len())
	case int64(to[0])*int64(to[1]) > maxGridElements/int64(max(dim, 1))/int64(to[2]):
		return nil, fmt.Errorf("a grid of %s is too large", to)
	}
	source := make([][]float64, n)
	for i := range source {
		source[i] = make([]float64, dim)
		if err := old.Row(prefix+i, source[i]); err != nil {
			return nil, err
		}
	}
	r := &Resampled{old: old, prefix: prefix, tail: old.Len() - prefix - n, gridRows: n}
	vertical, horizontal := k.taps(from[1], to[1]), k.taps(from[2], to[2])
	for _, time := range k.AlongTime().taps(from[0], to[0]) {
		for y := range to[1] {
			for x := range to[2] {
				row := make([]float64, dim)
				for _, t := range time {
					for _, v := range vertical[y] {
						for _, h := range horizontal[x] {
							w := t.weight * v.weight * h.weight
							for c, s := range source[(t.at*from[1]+v.at)*from[2]+h.at] {
								row[c] += w * s
							}
						}
					}
				}
				r.rows = append(r.rows, row)
			}
		}
	}
	return r, nil
}

// sumError is how far rows may be from the sum of a part by row and one by column, of the largest number: float32, in which exporters add them.
const sumError = 4e-6

// IsSum reports whether each row of a grid behind a prefix is the sum of one by its row and one by its column of the grid, and they differ: sines and
// cosines that were multiplied by weights are such, or two tables that an exporter added; trained rows are not.
func IsSum(table Rows, prefix int, grid Grid) (bool, error) {
	rows, columns := grid[1], grid[2]
	if rows < 2 || columns < 2 || prefix+grid.Places() > table.Len() {
		return false, nil
	}
	above, row := make([][]float64, columns), make([]float64, table.Dim())
	var first []float64 // of the grid's row
	largest, apart, varies := 0.0, 0.0, false
	for p := range grid.Places() {
		if err := table.Row(prefix+p, row); err != nil {
			return false, err
		}
		y, x := p/columns%rows, p%columns
		if y == 0 {
			above[x] = slices.Clone(row)
		}
		if x == 0 {
			first = slices.Clone(row)
		}
		for c, v := range row {
			largest = max(largest, math.Abs(v))
			apart = max(apart, math.Abs(v-first[c]-above[x][c]+above[0][c]))
			varies = varies || v != above[0][c]
		}
	}
	return varies && apart <= sumError*largest, nil
}

// Len is the number of rows, prefix and tail included.
func (r *Resampled) Len() int { return r.prefix + len(r.rows) + r.tail }

// Kept is the number of leading rows that stay as bytes: the prefix.
func (r *Resampled) Kept() int { return r.prefix }

// Dim is the number of columns.
func (r *Resampled) Dim() int { return r.old.Dim() }

// Row gives row i: of the prefix, the grid, or the tail.
func (r *Resampled) Row(i int, dst []float64) error {
	switch {
	case i < r.prefix:
		return r.old.Row(i, dst)
	case i < r.prefix+len(r.rows):
		copy(dst, r.rows[i-r.prefix])
		return nil
	}
	return r.old.Row(i-len(r.rows)+r.gridRows, dst)
}
