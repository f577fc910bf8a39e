package attention

import (
	"fmt"

	"github.com/modelpatch/modelpatch/gguf"
)

// projection reads the rows of one head from a matrix when asked.
type projection struct {
	file   *gguf.File
	weight *gguf.Tensor
	bias   *gguf.Tensor // nil: none
	first  int          // row of head 0, in a fused matrix
	dim    int
}

// In is the width of the input.
func (p *projection) In() int { return int(p.weight.Width()) }

// head reads one head's rows, dequantised, and its bias.
func (p *projection) head(head int) (weights, bias []float64, err error) {
	row := int64(p.first + head*p.dim)
	if head < 0 || row+int64(p.dim) > p.weight.Rows() {
		return nil, nil, fmt.Errorf("tensor %s has no head %d", p.weight.Name, head)
	}
	weights = make([]float64, p.dim*p.In())
	if err := p.file.ReadRows(p.weight, row, int64(p.dim), weights); err != nil {
		return nil, nil, err
	}
	if p.bias == nil {
		return weights, nil, nil
	}
	if p.bias.Rows() != 1 || int64(p.bias.Width()) != p.weight.Rows() { // before its width decides an allocation
		return nil, nil, fmt.Errorf("tensor %s has %d rows of %d elements, and %s has %d rows", p.bias.Name, p.bias.Rows(), p.bias.Width(), p.weight.Name, p.weight.Rows())
	}
	all := make([]float64, p.bias.Width())
	if err := p.file.ReadRows(p.bias, 0, 1, all); err != nil {
		return nil, nil, err
	}
	return weights, all[row : row+int64(p.dim)], nil
}

// unreadable says that a storage type cannot be read, "" where it can.
func unreadable(t *gguf.Tensor) string {
	if t.Readable() {
		return ""
	}
	return fmt.Sprintf("its weights have storage type %s", t.Type)
}
