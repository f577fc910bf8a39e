package ggufpos

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
)

// TestTowers: the tables of each tower of a file, and what is told of one in which there is none.
func TestTowers(t *testing.T) {
	type tensor struct {
		name  string
		shape []int64
	}
	for _, c := range []struct {
		name, kind string
		more       keys
		tensors    []tensor
		found      []string
		says       string
	}{
		{"image and text (clip.cpp)", "", nil, []tensor{{"t.position_embd.weight", []int64{8, 77}}, {"v.position_embd.weight", []int64{8, 17}}},
			[]string{"position table of 17 rows of 8, grid 4×4, 1 row before it ×16", "position table of 77 rows of 8 ×77"}, "position table of the image tower"},
		{"a name of its own (yasa2.cpp)", "yasa2", nil, []tensor{{"v.vision_pos_embed", []int64{8, 16}}}, []string{"position table of 16 rows of 8, grid 4×4 ×16"}, "image tower"},
		{"names of another program", "new", nil, []tensor{{"v.trunk.pos_embed", []int64{8, 10, 1}}}, []string{"position table of 10 rows of 8 ×10"}, "by its name and shape"},
		{"without positions (mobilenetv5.cpp)", "gemma3nv", nil, []tensor{{"v.conv_stem.conv.weight", []int64{3, 3}}}, []string{"none ×0"}, "attention without positions"},
		{"of one tower only", "gemma3nv", keys{"clip.audio.projector_type": gguf.String("gemma3na")}, []tensor{{"a.x", []int64{3, 3}}}, []string{"unknown ×0"}, `none of the 1 tensors is named as a table of positions, and what llama.cpp does for the projector type "gemma3nv, gemma3na" is not known here`},
		{"of no type", "", nil, nil, []string{"unknown ×0"}, "there are no tensors, and no projector type is stated"},
	} {
		k := keys{"general.architecture": gguf.String("clip"), "general.type": gguf.String("mmproj")}
		if c.kind != "" {
			k["clip.projector_type"] = gguf.String(c.kind)
		}
		was := written(t, with(k, c.more), nil)
		f, err := gguf.NewFile(bytes.NewReader(was), int64(len(was)))
		if err != nil {
			t.Fatal(err)
		}
		e := f.Edit()
		for _, x := range c.tensors {
			e.Add(x.name, gguf.F32, x.shape, patch.Zeros(4*x.shape[0]*x.shape[1]), "")
		}
		if len(c.tensors) > 0 {
			was = edited(t, e, was)
		}
		m := opened(t, was)
		var got []string
		for _, s := range m.sites {
			got = append(got, fmt.Sprintf("%v ×%d", s.Encoding().Scheme, s.Encoding().Capacity))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.found) {
			t.Errorf("%s: found %q, want %q", c.name, got, c.found)
			continue
		}
		if said := m.sites[0].Encoding().Evidence[0].Says; !strings.Contains(string(said), c.says) {
			t.Errorf("%s: says %q, want %q", c.name, said, c.says)
		}
	}
}
