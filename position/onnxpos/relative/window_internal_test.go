package relative

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestFrames reads biases of which every second place alone has queries, in a picture and in one of half its sides.
func TestFrames(t *testing.T) {
	between := func(keys [2]int, stride int, of func(dy, dx int) float64) *bias {
		rows := schemes.WindowIndex(keys[0], keys[1], false)
		m := [][]float64{}
		for q := range rows {
			if y, x := q/keys[1], q%keys[1]; y%stride == 0 && x%stride == 0 {
				row := make([]float64, len(rows))
				for k := range row {
					row[k] = of(y-k/keys[1], x-k%keys[1])
				}
				m = append(m, row)
			}
		}
		return &bias{node: &onnx.Node{Op: "Add"}, heads: [][][]float64{m}}
	}
	apart := func(dy, dx int) float64 { return float64(10*max(dy, -dy) + max(dx, -dx)) }
	signed := func(dy, dx int) float64 { return float64(10*dy + dx) }
	for _, c := range []struct {
		name   string
		b      *bias
		whole  bool
		is     frame
		refuse bool
	}{
		{"all places", between([2]int{5, 4}, 1, signed), true, frame{[2]int{8, 6}, 1}, false},
		{"every second one", between([2]int{5, 4}, 2, apart), true, frame{[2]int{8, 6}, 2}, false},
		{"half the sides", between([2]int{3, 2}, 1, apart), true, frame{[2]int{4, 3}, 1}, false},
		{"half the sides, every second one", between([2]int{3, 2}, 2, apart), true, frame{[2]int{4, 3}, 2}, false},
		{"with signs", between([2]int{5, 4}, 2, signed), true, frame{[2]int{8, 6}, 2}, true},
		{"windows of a picture", between([2]int{3, 2}, 1, apart), false, frame{[2]int{8, 6}, 1}, true},
	} {
		was, is := c.b.framesIn([2]int{5, 4}, [2]int{8, 6}, c.whole)
		table, _, err := c.b.windowTable(was)
		if is != c.is || (err != nil) != c.refuse {
			t.Errorf("%s: %+v, %v", c.name, is, err)
		}
		if err != nil {
			continue
		}
		for place, row := range table {
			width := 2*was.keys[1] - 1
			dy, dx := place/width-was.keys[0]+1, place%width-was.keys[1]+1
			if want := apart(dy, dx); row[0] != want && row[0] != signed(dy, dx) {
				t.Errorf("%s: %d, %d apart: %g", c.name, dy, dx, row[0])
			}
		}
	}
}
