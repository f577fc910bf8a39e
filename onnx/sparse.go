package onnx

import "fmt"

// sparseBlock is how many indices are read at a time.
const sparseBlock = 1 << 14

// Fault says what is wrong with where a sparse initializer puts its values; "" when
// nothing is. Indices are [NNZ], into the values of the dense tensor in order, or [NNZ, rank]
// (onnx.proto, SparseTensorProto); an engine that trusts them writes outside of the tensor.
func (s *SparseTensor) Fault() (string, error) {
	size := int64(1)
	for _, d := range s.Dims {
		if d < 0 || d > 0 && size > (1<<62)/d {
			return fmt.Sprintf("the dimensions %v are none of a tensor", s.Dims), nil
		}
		size *= d
	}
	values, rank := s.Values.Len(), len(s.Dims)
	switch dims := s.Indices.Dims; {
	case len(dims) == 1 && dims[0] == values:
	case len(dims) == 2 && dims[0] == values && dims[1] == int64(rank):
	default:
		return fmt.Sprintf("indices of shape %v for %d values of %d dimensions", dims, values, rank), nil
	}
	n := s.Indices.Len()
	for at := int64(0); at < n; at += sparseBlock {
		indices, err := s.Indices.Ints(at, min(sparseBlock, n-at))
		if err != nil {
			return "", err
		}
		for i, index := range indices {
			limit := size
			if len(s.Indices.Dims) == 2 {
				limit = s.Dims[(at+int64(i))%int64(rank)]
			}
			if index < 0 || index >= limit {
				return fmt.Sprintf("index %d at place %d, where %d is the end", index, at+int64(i), limit), nil
			}
		}
	}
	return "", nil
}
