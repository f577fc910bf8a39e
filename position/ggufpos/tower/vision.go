package tower

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Keys of image towers (tools/mtmd/clip-impl.h).
const (
	keyImage     = "clip.vision.image_size"
	keyPatch     = "clip.vision.patch_size"
	keyScale     = "clip.vision.projector.scale_factor"
	keyMerge     = "clip.vision.spatial_merge_size"
	keyPinpoints = "clip.vision.image_grid_pinpoints"
)

// projector is how llama.cpp gives pictures to the towers of some projector types: what the
// preprocessor of mtmd.cpp makes of them, and what the graph in tools/mtmd/models does with the table.
type projector struct {
	names []string
	// merge is how many patches of a side become one token where key does not say.
	merge int
	key   string
	// any is set where a picture keeps its size, and says what becomes of the table.
	any string
	// last tells that the class token stands behind the patches.
	last bool
	// only is why the size stays; "" where it can be another.
	only string
}

const (
	resampled = "llama.cpp resamples the position table to each picture (clip_graph::resize_position_embeddings and its like)"
	turned    = "llama.cpp turns the patches of each picture by their rows and columns, without a table"
)

// projectors are those of llama.cpp build 11434 (tools/mtmd/clip.cpp): load_hparams has the merges and
// their keys, models/NAME.cpp what is done with v.position_embd. Where a graph adds the table as it is,
// every picture, or every tile of it, is scaled to image_size.
var projectors = []projector{
	{names: []string{"gemma3"}, merge: 4, key: keyScale},                                                // models/siglip.cpp: a pool of n_merge
	{names: []string{"idefics3", "internvl", "nemotron_v2_vl"}, merge: 1, key: keyScale},                // a shuffle of n_merge
	{names: []string{"llama4"}, merge: 1, key: keyScale, last: true},                                    // clip.cpp: "last pos is always kept 0, it's for CLS"
	{names: []string{"mlp", "mlp_norm", "janus_pro", "cogvlm"}, merge: 1},                               // a token a patch
	{names: []string{"adapter"}, merge: 2},                                                              // models/llava.cpp: a convolution of stride 2
	{names: []string{"ldp", "ldpv2"}, merge: 2, only: "llama.cpp's projector is for 24×24 patches"},     // models/llava.cpp: n_patch
	{names: []string{"granite4_vision"}, merge: 1, only: "the windows of its queries are for one size"}, // models/granite4-vision.cpp
	{names: []string{"deepseekocr", "deepseekocr2"}, merge: 1, only: "llama.cpp gives it pictures of sizes of its own"},
	{names: []string{"lfm2", "kimivl", "kimik25"}, merge: 1, key: keyScale, any: resampled},
	{names: []string{"phi4"}, merge: 1, any: resampled},
	{names: []string{"paddleocr"}, merge: 2, any: resampled},
	{names: []string{"step3vl"}, merge: 4, key: keyScale, any: resampled},
	{names: []string{"qwen3vl_merger", "ling3vl", "glm4v", "hunyuanvl", "muse-glimmer"}, merge: 2, key: keyMerge, any: resampled},
	{names: []string{"resampler"}, merge: 1, any: "llama.cpp picks rows of its table in proportion to the picture"},                  // models/minicpmv.cpp: 70 buckets a side
	{names: []string{"minicpmv4_6"}, merge: 4, key: keyScale, any: "llama.cpp picks rows of its table in proportion to the picture"}, // the same
	{names: []string{"gemma4v", "gemma4uv"}, merge: 3, key: keyScale, any: "llama.cpp adds a row of its table by row and by column"}, // models/gemma4v.cpp
	{names: []string{"qwen2vl_merger", "qwen2.5vl_merger", "mimovl", "minimax_m3", "youtuvl", "exaone4_5", "glm5v"}, merge: 2, key: keyMerge, any: turned},
	{names: []string{"pixtral", "lightonocr", "dots3note_v"}, merge: 1, key: keyMerge, any: turned},
	{names: []string{"dots_ocr", "deepseek4v"}, merge: 1, key: keyScale, any: turned},
}

// Vision is the image tower of a file, as llama.cpp gives it pictures.
type Vision struct {
	m         *hparams.Model
	projector *projector // nil: llama.cpp's code for it is not known
	kind      string
	image     int // side of the picture in pixels
	patch     int // side of a patch
}

// maxImage is the largest picture's side that llama.cpp takes (clip.cpp, "image_size is too large").
const maxImage = 8192

// VisionOf is the image tower of a projector, nil where it has none.
func VisionOf(m *hparams.Model) *Vision {
	v := &Vision{m: m, image: pixels(m, keyImage), patch: pixels(m, keyPatch)}
	if v.patch == 0 {
		return nil
	}
	for _, key := range []string{"clip.vision.projector_type", "clip.projector_type"} {
		if kind, ok := m.File.String(key); ok {
			v.kind = kind
			break
		}
	}
	if i := slices.IndexFunc(projectors, func(p projector) bool { return slices.Contains(p.names, v.kind) }); i >= 0 {
		v.projector = &projectors[i]
	}
	return v
}

// pixels is a key of a number of pixels, 0 where it is none.
func pixels(m *hparams.Model, key string) int {
	if n, ok := m.File.Find(key).Uint(); ok && n <= maxImage {
		return int(n)
	}
	return 0
}

// PatchSize is the side of a patch in pixels.
func (v *Vision) PatchSize() int { return v.patch }

// PatchGrid is the height and width in patches of the size to which llama.cpp scales pictures, zeros
// where it takes them as they are.
func (v *Vision) PatchGrid() schemes.Grid {
	if v.projector == nil || v.projector.any != "" {
		return schemes.Grid{}
	}
	return schemes.Grid{1, v.image / v.patch, v.image / v.patch}
}

// Merged is how many patches along a side become one token.
func (v *Vision) Merged() int {
	if v.projector == nil {
		return 0
	}
	if n, ok := v.m.File.Find(v.projector.key).Uint(); ok && v.projector.key != "" && n > 0 && n < maxImage {
		return int(n)
	}
	return v.projector.merge
}

// TakesPictures is position.Pictured, of llama.cpp.
func (v *Vision) TakesPictures(to [2]int) (any string, err error) {
	p := v.projector
	if p == nil || p.only != "" {
		return "", &position.Refusal{Why: "the size of its pictures cannot change: " + v.fixed(), Instead: "convert the model anew for the wanted size"}
	}
	image := func(side int) []report.Remedy {
		return []report.Remedy{report.Do("extend", "", "image", fmt.Sprint(side*v.patch))}
	}
	merged, largest := v.Merged(), maxImage/v.patch
	switch {
	case p.any == "" && to[0] != to[1]:
		return "", &position.Refusal{Why: fmt.Sprintf("llama.cpp scales every picture to a square for this projector, and %d×%d patches are none", to[0], to[1]), Remedies: image(max(to[0], to[1]))}
	case max(to[0], to[1]) > largest:
		return "", &position.Refusal{Why: fmt.Sprintf("llama.cpp takes pictures of at most %d pixels a side", largest*v.patch), Remedies: image(largest / merged * merged)}
	}
	for _, side := range to {
		if side%merged != 0 {
			return "", &position.UsageError{What: fmt.Sprintf("a side of %d patches (%d pixels): the projector makes one token of %d×%d patches", side, side*v.patch, merged, merged),
				Hint: schemes.NearestSizes(side*v.patch, merged*v.patch, 0)}
		}
	}
	return p.any, nil
}

// fixed is why the size of the pictures cannot change, "" where it can.
func (v *Vision) fixed() string {
	if v.projector == nil {
		return fmt.Sprintf("what llama.cpp does with pictures for the projector type %q is not known", v.kind)
	}
	return v.projector.only
}

// Sizes is position.Sized: the size to which llama.cpp scales pictures, and what the sides of others are multiples of.
func (v *Vision) Sizes() (picture [2]int, frames, multiple int) {
	grid := v.PatchGrid()
	if v.fixed() == "" {
		multiple = v.Merged() * v.patch
	}
	return [2]int{grid[1] * v.patch, grid[2] * v.patch}, 0, multiple
}

// Takes reports whether the file is for so many patches as it is: TakesPictures says so.
func (v *Vision) Takes(schemes.Grid) (takes bool, left position.Leftover) { return false, left }

// Overlap is none: patches stand side by side.
func (v *Vision) Overlap() [2]int { return [2]int{} }

// FreeSides are none: the file has no axes.
func (v *Vision) FreeSides() []string { return nil }

// SetGrid states the size of another picture: image_size, and the sizes that LLaVA-NeXT cuts into tiles
// of it (image_grid_pinpoints, of which mtmd-image.cpp takes tiles of image_size).
func (v *Vision) SetGrid(old, grid schemes.Grid, window [2]int) error {
	if window != [2]int{} {
		return &position.Refusal{Why: "the windows of a picture follow from the file's keys", Instead: "leave the option away"}
	}
	if old != v.PatchGrid() {
		return &position.Refusal{Why: fmt.Sprintf("its table is of %s patches, and %s is %d with patches of %d: llama.cpp does not run that", old, keyImage, v.image, v.patch),
			Instead: "convert the model again"}
	}
	side := grid[1] * v.patch
	v.m.Edit.Set(keyImage, gguf.Uint32(uint32(side)), "size of the picture")
	if v.m.File.Find(keyPinpoints) == nil {
		return nil
	}
	points, ok := v.m.File.Numbers(keyPinpoints)
	out := make([]int32, len(points))
	for i, n := range points {
		tiles := int(n) / v.image
		ok = ok && tiles <= maxTiles && float64(tiles*v.image) == n
		out[i] = int32(tiles * side)
	}
	if !ok {
		return &position.Refusal{Why: fmt.Sprintf("not all of %s are multiples of the picture's %d pixels", keyPinpoints, v.image), Instead: "convert the model anew for the wanted size"}
	}
	v.m.Edit.Set(keyPinpoints, gguf.Int32s(out...), "sizes that are cut into tiles")
	return nil
}

// maxTiles bounds the tiles along a side of a picture.
const maxTiles = 1 << 12
