//go:build darwin || linux

package onnxruntime

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Session is a loaded model. It must be closed.
type Session struct {
	l       *Library
	session uintptr
	outputs []string

	Inputs []Input
}

// Open loads a model, optimised at a level (0: not at all; 99: all there is), for one
// thread. The error is the engine's own.
func (l *Library) Open(path string, level int) (*Session, error) {
	var options uintptr
	if err := l.call(createSessionOptions, uintptr(unsafe.Pointer(&options))); err != nil {
		return nil, err
	}
	defer func() { l.release(releaseSessionOptions, options) }()
	for function, value := range map[int]int{setIntraOpThreads: 1, setInterOpThreads: 1, setLogSeverity: severityFatal, setOptimization: level} {
		if err := l.call(function, options, uintptr(value)); err != nil {
			return nil, err
		}
	}
	for _, function := range []int{disableCPUMemArena, disableMemPattern} { // memory is given back at once
		if err := l.call(function, options); err != nil {
			return nil, err
		}
	}
	s := &Session{l: l}
	name := append([]byte(path), 0)
	err := l.call(createSession, l.env, uintptr(unsafe.Pointer(&name[0])), options, uintptr(unsafe.Pointer(&s.session)))
	runtime.KeepAlive(name)
	if err != nil {
		return nil, err
	}
	if err := s.describe(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close gives the model's memory back.
func (s *Session) Close() {
	s.l.release(releaseSession, s.session)
	s.session = 0
}

// describe reads the model's interface.
func (s *Session) describe() error {
	var n uintptr
	if err := s.l.call(inputCount, s.session, uintptr(unsafe.Pointer(&n))); err != nil {
		return err
	}
	for i := range n {
		in := Input{}
		var err error
		if in.Name, err = s.name(inputName, i); err != nil {
			return err
		}
		if err := s.shape(i, &in); err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
		}
		s.Inputs = append(s.Inputs, in)
	}
	if err := s.l.call(outputCount, s.session, uintptr(unsafe.Pointer(&n))); err != nil {
		return err
	}
	for i := range n {
		name, err := s.name(outputName, i)
		if err != nil {
			return err
		}
		s.outputs = append(s.outputs, name)
	}
	return nil
}

// name reads the name of an input or output.
func (s *Session) name(function int, i uintptr) (string, error) {
	var text *byte
	if err := s.l.call(function, s.session, i, s.l.allocator, uintptr(unsafe.Pointer(&text))); err != nil {
		return "", err
	}
	out := goString(text)
	return out, s.l.call(allocatorFree, s.l.allocator, uintptr(unsafe.Pointer(text)))
}

// shape reads the type and dimensions of an input.
func (s *Session) shape(i uintptr, in *Input) error {
	var info, tensor uintptr
	if err := s.l.call(inputTypeInfo, s.session, i, uintptr(unsafe.Pointer(&info))); err != nil {
		return err
	}
	defer func() { s.l.release(releaseTypeInfo, info) }()
	if err := s.l.call(castToTensorInfo, info, uintptr(unsafe.Pointer(&tensor))); err != nil {
		return err
	}
	if tensor == 0 {
		return fmt.Errorf("it is no tensor")
	}
	var err error
	if in.Type, in.Dims, err = s.l.tensor(tensor); err != nil || len(in.Dims) == 0 {
		return err
	}
	names := make([]*byte, len(in.Dims))
	if err := s.l.call(symbolicDimensions, tensor, uintptr(unsafe.Pointer(&names[0])), uintptr(len(names))); err != nil {
		return err
	}
	for _, name := range names {
		in.Labels = append(in.Labels, goString(name))
	}
	return nil
}

// tensor reads the type and dimensions of a tensor.
func (l *Library) tensor(info uintptr) (Type, []int64, error) {
	var kind int32
	var n uintptr
	if err := l.call(elementType, info, uintptr(unsafe.Pointer(&kind))); err != nil {
		return 0, nil, err
	}
	if err := l.call(dimensionsCount, info, uintptr(unsafe.Pointer(&n))); err != nil {
		return 0, nil, err
	}
	if n == 0 {
		return Type(kind), nil, nil
	}
	if n > maxRank {
		return 0, nil, fmt.Errorf("a rank of %d", n)
	}
	dims := make([]int64, n)
	return Type(kind), dims, l.call(dimensions, info, uintptr(unsafe.Pointer(&dims[0])), n)
}

// Run computes all outputs. Inputs are in the order of s.Inputs.
func (s *Session) Run(inputs []Tensor) ([]Tensor, error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	values := make([]uintptr, len(inputs)+1) // one more: none is empty
	defer func() {
		for _, v := range values {
			s.l.release(releaseValue, v)
		}
	}()
	inNames, outNames := make([]*byte, len(inputs)+1), make([]*byte, len(s.outputs)+1)
	for i, t := range inputs {
		inNames[i] = cString(s.Inputs[i].Name)
		data := t.Data
		if len(data) == 0 {
			data = make([]byte, 8) // an address, of nothing
		}
		dims := append(append([]int64(nil), t.Dims...), 0) // a scalar has an address, too
		pins.Pin(&data[0])
		pins.Pin(&dims[0])
		pins.Pin(inNames[i])
		if err := s.l.call(createTensorWithData, s.l.memory, uintptr(unsafe.Pointer(&data[0])), uintptr(len(t.Data)), uintptr(unsafe.Pointer(&dims[0])), uintptr(len(t.Dims)), uintptr(t.Type), uintptr(unsafe.Pointer(&values[i]))); err != nil {
			return nil, fmt.Errorf("input %s: %w", s.Inputs[i].Name, err)
		}
	}
	for i, name := range s.outputs {
		outNames[i] = cString(name)
		pins.Pin(outNames[i])
	}
	results := make([]uintptr, len(s.outputs)+1)
	defer func() {
		for _, v := range results {
			s.l.release(releaseValue, v)
		}
	}()
	err := s.l.call(run, s.session, 0, uintptr(unsafe.Pointer(&inNames[0])), uintptr(unsafe.Pointer(&values[0])), uintptr(len(inputs)), uintptr(unsafe.Pointer(&outNames[0])), uintptr(len(s.outputs)), uintptr(unsafe.Pointer(&results[0])))
	runtime.KeepAlive(inNames)
	runtime.KeepAlive(outNames)
	runtime.KeepAlive(values)
	if err != nil {
		return nil, err
	}
	var out []Tensor
	for i, name := range s.outputs {
		t, err := s.result(results[i])
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		t.Name = name
		out = append(out, t)
	}
	return out, nil
}

// result copies an output.
func (s *Session) result(value uintptr) (Tensor, error) {
	var t Tensor
	var is int32
	if value == 0 {
		return t, nil // an optional output that is not there
	}
	if err := s.l.call(isTensor, value, uintptr(unsafe.Pointer(&is))); err != nil || is == 0 {
		return t, err // a sequence or map is not compared
	}
	var info, count uintptr
	if err := s.l.call(tensorTypeAndShape, value, uintptr(unsafe.Pointer(&info))); err != nil {
		return t, err
	}
	defer func() { s.l.release(releaseTensorInfo, info) }()
	var err error
	if t.Type, t.Dims, err = s.l.tensor(info); err != nil {
		return t, err
	}
	if err := s.l.call(elementCount, info, uintptr(unsafe.Pointer(&count))); err != nil {
		return t, err
	}
	size := count * uintptr(t.Type.Size())
	if size > maxOutput {
		return t, fmt.Errorf("%d bytes, more than %d", size, maxOutput)
	}
	if size == 0 {
		return t, nil
	}
	var data *byte
	if err := s.l.call(tensorData, value, uintptr(unsafe.Pointer(&data))); err != nil {
		return t, err
	}
	t.Data = append([]byte(nil), unsafe.Slice(data, size)...)
	return t, nil
}

// goString copies text that ends with a zero.
func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for n < maxName && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// cString is text with a zero behind it.
func cString(s string) *byte { return &append([]byte(s), 0)[0] }
