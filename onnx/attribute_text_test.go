package onnx

import "testing"

func TestAttributeText(t *testing.T) {
	for want, a := range map[string]*Attribute{
		"3":         {Type: attributeInt, I: 3},
		"0":         {Type: attributeInt},
		"[1 2]":     {Ints: []int64{1, 2}},
		"0.5":       {F: 0.5},
		`"max"`:     {Type: attributeString, S: []byte("max")},
		"3 7:[1]":   {Type: attributeInt, I: 3, Ints: []int64{1}},
		"2 ref:all": {I: 2, Ref: "all"},
	} {
		if got := a.Text(); got != want {
			t.Errorf("%+v: %s, want %s", a, got, want)
		}
	}
}
