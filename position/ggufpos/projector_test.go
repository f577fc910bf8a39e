package ggufpos

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
)

// projectorFile are the bytes of a projector for pictures of so many pixels, with patches of 8, whose row i of two
// columns is i.
func projectorFile(t *testing.T, kind string, pixels, rows int, more keys) []byte {
	t.Helper()
	k := keys{"general.architecture": gguf.String("clip"), "general.type": gguf.String("mmproj"), "clip.projector_type": gguf.String(kind),
		"clip.vision.image_size": gguf.Uint32(uint32(pixels)), "clip.vision.patch_size": gguf.Uint32(8)}
	for key, v := range more {
		k[key] = v
	}
	was := written(t, k, nil)
	f, err := gguf.NewFile(bytes.NewReader(was), int64(len(was)))
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	for i := range rows {
		binary.Write(&raw, binary.LittleEndian, []float32{float32(i), float32(i)})
	}
	e := f.Edit()
	e.Add("v.position_embd.weight", gguf.F32, []int64{2, int64(rows)}, patch.Bytes(raw.Bytes()), "")
	return edited(t, e, was)
}

func openProjector(t *testing.T, file []byte) (*gguf.File, position.Model) {
	t.Helper()
	f, err := gguf.NewFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return f, m
}

// TestProjectorPictures: what extend --image makes of projectors, as llama.cpp takes their pictures.
func TestProjectorPictures(t *testing.T) {
	two := keys{"clip.vision.projector.scale_factor": gguf.Uint32(2)}
	for _, c := range []struct {
		name, kind   string
		pixels, rows int
		more         keys
		to           position.GridOptions
		want         string // of the error or of what is not to be done; "": changed
		first, last  float64
	}{
		{"a class token first", "mlp", 16, 5, nil, position.GridOptions{Image: 32}, "", 0, 0},
		{"a class token last", "llama4", 16, 5, two, position.GridOptions{Image: 32}, "", 0, 4},
		{"smaller", "mlp", 32, 16, nil, position.GridOptions{Image: 16}, "", 0, 0},
		{"patches joined", "gemma3", 32, 16, nil, position.GridOptions{Image: 48}, "the projector makes one token of 4×4 patches; the nearest possible are 32 and 64 pixels", 0, 0},
		{"not square", "gemma3", 32, 16, nil, position.GridOptions{Image: 64, ImageWidth: 32}, "scales every picture to a square", 0, 0},
		{"too large", "mlp", 16, 4, nil, position.GridOptions{Image: 8200}, "at most 8192 pixels", 0, 0},
		{"a grid of its own", "ldpv2", 192, 576, nil, position.GridOptions{Image: 256}, "the size of its pictures cannot change: llama.cpp's projector is for 24×24 patches", 0, 0},
		{"unknown", "new", 16, 4, nil, position.GridOptions{Image: 32}, `projector type "new" is not known`, 0, 0},
		{"resampled by the engine", "qwen3vl_merger", 16, 16, nil, position.GridOptions{Image: 32}, "llama.cpp resamples the position table to each picture", 0, 0},
		{"another table", "mlp", 24, 4, nil, position.GridOptions{Image: 32}, "its table is of 2×2 patches, and clip.vision.image_size is 24", 0, 0},
		{"pinpoints", "mlp", 16, 4, keys{"clip.vision.image_grid_pinpoints": gguf.Int32s(16, 32, 32, 16)}, position.GridOptions{Image: 32}, "", 0, 0},
		{"odd pinpoints", "mlp", 16, 4, keys{"clip.vision.image_grid_pinpoints": gguf.Int32s(16, 40)}, position.GridOptions{Image: 32}, "not all of clip.vision.image_grid_pinpoints", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			was := projectorFile(t, c.kind, c.pixels, c.rows, c.more)
			_, m := openProjector(t, was)
			out, err := position.ResizeGrid(m, c.to)
			says := out.Nothing
			if err != nil {
				says = err.Error()
				if u, ok := err.(*position.UsageError); ok {
					says += "; " + u.Hint
				}
			}
			if c.want != "" || says != "" {
				if c.want == "" || !strings.Contains(says, c.want) {
					t.Fatalf("%q, want %q", says, c.want)
				}
				return
			}
			plan, err := m.Edits()
			if err != nil {
				t.Fatal(err)
			}
			now, err := io.ReadAll(plan.NewReader(0, bytes.NewReader(was)))
			if err != nil {
				t.Fatal(err)
			}
			f, again := openProjector(t, now)
			side := c.to.Image / 8
			table := f.Tensor("v.position_embd.weight")
			if n, _ := f.Find("clip.vision.image_size").Uint(); int(n) != c.to.Image || table.Rows() != int64(side*side+c.rows-(c.pixels/8)*(c.pixels/8)) {
				t.Errorf("image_size %d, %d rows", n, table.Rows())
			}
			if got := position.Inspect(again).Length.Picture; !slices.Equal(got, []int{c.to.Image, c.to.Image}) {
				t.Errorf("pictures of %v", got)
			}
			row := make([]float64, 2)
			for _, at := range []struct {
				row  int64
				want float64
			}{{0, c.first}, {table.Rows() - 1, c.last}} {
				if err := f.ReadRows(table, at.row, 1, row); err != nil || at.want != 0 && row[0] != at.want {
					t.Errorf("row %d is %v, want %v (%v)", at.row, row, at.want, err)
				}
			}
			if points, ok := f.Numbers("clip.vision.image_grid_pinpoints"); ok && !slices.Equal(points, []float64{32, 64, 64, 32}) {
				t.Errorf("pinpoints %v", points)
			}
		})
	}
}

// TestTowersBesideTheTable: what llama.cpp adds or turns in a projector beside the table of its patches, and why what it has cannot get other rows.
func TestTowersBesideTheTable(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		more       keys
		tensors    map[string][]int64
		want       []string // of the encodings behind the table
	}{
		{"SAM's table (clip_graph_deepseekocr::build_sam)", "deepseekocr", nil, map[string][]int64{"v.sam.pos_embd.weight": {4, 3, 3, 1}}, []string{"position table of 9 rows of 4, grid 3×3"}},
		{"MiniCPM-V's resampler (clip_graph_minicpmv::build)", "resampler", nil, map[string][]int64{"resampler.query": {64, 2}}, []string{"sinusoidal"}},
		{"heads of an audio tower", "mimo_audio", keys{"clip.audio.embedding_length": gguf.Uint32(64), "clip.audio.attention.head_count": gguf.Uint32(2)}, nil, []string{"of 32"}},
	} {
		was := projectorFile(t, c.kind, 32, 16, c.more)
		f, err := gguf.NewFile(bytes.NewReader(was), int64(len(was)))
		if err != nil {
			t.Fatal(err)
		}
		e := f.Edit()
		for name, shape := range c.tensors {
			n := int64(4)
			for _, d := range shape {
				n *= d
			}
			e.Add(name, gguf.F32, shape, patch.Zeros(n), "")
		}
		sites := reopen(t, e, was).sites
		if len(sites) != 1+len(c.want) {
			t.Errorf("%s: %d encodings", c.name, len(sites))
			continue
		}
		for i, want := range c.want {
			if s := sites[i+1].Encoding().Scheme; !strings.Contains(fmt.Sprint(s), want) && s.Name() != want {
				t.Errorf("%s: %s, want %s", c.name, s, want)
			}
		}
	}
	_, m := openProjector(t, projectorFile(t, "gemma4v", 32, 15, nil)) // no square
	_, err := position.Extend(m, position.ExtendOptions{Length: 64})
	if err == nil || strings.Contains(err.Error(), "audio") || !strings.Contains(err.Error(), "places in a picture") {
		t.Errorf("rows of an image tower: %v", err)
	}
}
