package rows

import (
	"io"
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
)

// nothing is the number that leaves every other as it is where it is added, 0 too, bit for bit: x + (−0) is x (IEEE 754-2019 §6.3). A table of these
// was emptied on purpose; one of zeros was never trained.
var nothing = math.Copysign(0, -1)

// Nothing is the row of a table that adds nothing.
func Nothing(_ int, dst []float64) error {
	for i := range dst {
		dst[i] = nothing
	}
	return nil
}

// Emptied is the content of a constant that adds nothing: Nothing in floating-point numbers, whose sign is the highest bit of their last byte, and 0
// in whole ones and in those of eight bits or fewer.
func Emptied(t *onnx.Tensor) patch.Source {
	size := t.Type.Size(t.Len())
	if !t.Type.IsFloat() || t.Len() == 0 || size/t.Len() < 2 { // of eight bits, some types have no −0, and NaN in its place
		return patch.Zeros(size)
	}
	return patch.Func(size, func() io.Reader { return &emptied{width: size / t.Len(), left: size} })
}

// emptied reads numbers of so many bytes that are −0.
type emptied struct{ width, left int64 }

// Read fills what is left.
func (e *emptied) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), e.left)]
	for i := range p {
		e.left--
		if p[i] = 0; e.left%e.width == 0 {
			p[i] = 0x80
		}
	}
	return len(p), nil
}
