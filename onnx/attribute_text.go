package onnx

import (
	"fmt"
	"strings"
)

// Types of attributes whose value is told (onnx.proto, AttributeProto.AttributeType).
const (
	attributeFloat   = 1
	attributeInt     = 2
	attributeString  = 3
	attributeFloats  = 6
	attributeInts    = 7
	attributeStrings = 8
)

// Text is the attribute's value: that of its type, and every other one that it has
// all the same, with the number of its type. Files that state no type are told by what is there.
func (a *Attribute) Text() string {
	values := []struct {
		kind  int
		empty bool
		text  string
	}{
		{attributeInt, a.I == 0, fmt.Sprint(a.I)},
		{attributeFloat, a.F == 0, fmt.Sprint(a.F)},
		{attributeString, len(a.S) == 0, fmt.Sprintf("%q", a.S)},
		{attributeInts, len(a.Ints) == 0, fmt.Sprint(a.Ints)},
		{attributeFloats, len(a.Floats) == 0, fmt.Sprint(a.Floats)},
		{attributeStrings, len(a.Strs) == 0, fmt.Sprintf("%q", a.Strs)},
	}
	kind := a.Type
	for _, v := range values {
		if kind == 0 && !v.empty {
			kind = v.kind
		}
	}
	var out []string
	for _, v := range values {
		switch {
		case v.kind == kind:
			out = append(out, v.text)
		case !v.empty:
			out = append(out, fmt.Sprintf("%d:%s", v.kind, v.text))
		}
	}
	if a.Ref != "" {
		out = append(out, "ref:"+a.Ref)
	}
	return strings.Join(out, " ")
}
