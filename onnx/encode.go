package onnx

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch/patch"
)

// The encoders here write messages in the field numbers of onnx.proto.

func appendText(b []byte, number protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), s)
}

func appendMessage(b []byte, number protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), m)
}

func appendInt(b []byte, number protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
}

func encodeDims(dims []int64) []byte {
	var b []byte
	for _, d := range dims {
		b = appendInt(b, 1, d)
	}
	return b
}

// encodeEntry writes a StringStringEntryProto as field number.
func encodeEntry(number protowire.Number, key, value string) []byte {
	return appendMessage(nil, number, appendText(appendText(nil, 1, key), 2, value))
}

// encodeTensor writes a TensorProto with raw data.
func encodeTensor(name string, t DataType, dims []int64, raw []byte) []byte {
	b := encodeDims(dims)
	b = appendInt(b, 2, int64(t))
	b = appendText(b, 8, name)
	if raw == nil {
		return b
	}
	return appendMessage(b, 9, raw)
}

// NewNode describes a node to be added to a graph.
type NewNode struct {
	Op, Domain      string
	Inputs, Outputs []string
	Attributes      []NewAttribute
}

// NewAttribute is an attribute of a NewNode: an int64, a float32, a string, a list of either
// number, or a NewModel whose graph it is.
type NewAttribute struct {
	Name  string
	Value any
}

// named is what stands first in a NodeProto: inputs, outputs and the name.
func (n NewNode) named(name string) (b []byte) {
	for _, in := range n.Inputs {
		b = appendText(b, 1, in)
	}
	for _, out := range n.Outputs {
		b = appendText(b, 2, out)
	}
	return appendText(b, 3, name)
}

// encode writes a NodeProto.
func (n NewNode) encode(name string) []byte {
	b := appendText(n.named(name), 4, n.Op)
	for _, a := range n.Attributes {
		b = appendMessage(b, 5, a.encode())
	}
	if n.Domain != "" {
		b = appendText(b, 7, n.Domain)
	}
	return b
}

func (a NewAttribute) encode() []byte {
	b := appendText(nil, 1, a.Name)
	switch v := a.Value.(type) {
	case int64:
		b = appendInt(appendInt(b, 3, v), 20, 2)
	case float32:
		b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, math.Float32bits(v))
		b = appendInt(b, 20, 1)
	case string:
		b = appendInt(appendText(b, 4, v), 20, 3)
	case []float32:
		for _, x := range v {
			b = protowire.AppendFixed32(protowire.AppendTag(b, 7, protowire.Fixed32Type), math.Float32bits(x))
		}
		b = appendInt(b, 20, 6)
	case []int64:
		for _, i := range v {
			b = appendInt(b, 8, i)
		}
		b = appendInt(b, 20, 7)
	case NewModel:
		b = appendInt(appendMessage(b, 6, v.graph()), 20, 5)
	default:
		panic("onnx: attribute value of a type that NewAttribute does not list")
	}
	return b
}

// rawData is a TensorProto's raw_data field with streamed content.
func rawData(data patch.Source) patch.Source {
	head := protowire.AppendTag(nil, 9, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(data.Size()))
	return patch.Concat(patch.Bytes(head), data)
}
