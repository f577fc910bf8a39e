package ggufpos

import (
	"fmt"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/attention"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
	"github.com/modelpatch/modelpatch/position/ggufpos/tower"
	"github.com/modelpatch/modelpatch/report"
)

// model is an opened GGUF file as positions see it.
type model struct {
	*hparams.Model
	sites      []position.Site
	attentions []*position.Attention
	looked     bool // attentions were looked for
}

// Open finds the position encodings of a GGUF file. The model owns the file
// from now on: its Close closes it.
func Open(file *gguf.File) (position.Model, error) {
	m := &model{Model: hparams.New(file)}
	m.find()
	m.check()
	if v := tower.VisionOf(m.Model); m.Kind == report.KindProjector && v != nil {
		return &projector{m, v}, nil
	}
	return m, nil
}

// projector is a file with a tower of pictures.
type projector struct {
	*model
	*tower.Vision
}

// OpenEdited finds the position encodings of the file again, which has been
// edited in place since m was opened.
func (m *model) OpenEdited(path string) (position.Model, error) {
	f, err := gguf.OpenEdited(path, m.File)
	if err != nil {
		return nil, err
	}
	return m.openLike(f)
}

// openLike opens a file that m became, and assumes what m does.
func (m *model) openLike(f *gguf.File) (position.Model, error) {
	after, err := Open(f)
	if err != nil {
		return nil, err
	}
	return after, position.AssumeAs(after, m)
}

// Sites returns the places that encode position.
func (m *model) Sites() []position.Site { return m.sites }

// Attentions returns the model's attentions, which are looked for when first
// asked for.
func (m *model) Attentions() []*position.Attention {
	if !m.looked {
		m.looked = true
		m.attentions = attention.Find(m.Model, m.sites)
	}
	return m.attentions
}

// Findings returns what the file's owner should know.
func (m *model) Findings() []report.Finding { return m.Reported }

// Close closes the file.
func (m *model) Close() error { return m.File.Close() }

// ReadError is the first error of reading a model that is no file on a disk.
func (m *model) ReadError() error { return m.File.ReadError() }

// Describe says what the file is.
func (m *model) Describe() report.Inspect {
	first := m.File.Parts[0]
	r := report.Inspect{Path: first.Path, Format: position.FormatGGUF, Bytes: first.Size, Kind: m.Kind}
	for _, p := range m.File.Parts[1:] {
		r.Files = append(r.Files, report.File{Path: report.Name(p.Path), Bytes: p.Size})
	}
	if m.Name != "" {
		r.Architecture = report.Pointer(report.Name(m.Name))
	}
	if n, ok := m.Pair(arch.KeyContext).Uint(); ok && n <= maxStated && m.HasModelKeys() {
		r.Length.Stated = report.Pointer(int(n))
	}
	return r
}

// maxStated is the longest length that is passed on as the file states it,
// sense or not.
const maxStated = 1 << 53

// SetLength states another length. Where the original length of a scaling is
// taken from the stated one, it is written down first: raising
// context_length alone would change YaRN (facts/GGUF-FACTS §b).
func (m *model) SetLength(old, new int) error {
	if !m.HasModelKeys() {
		return nil
	}
	if err := m.CheckEditable(); err != nil {
		return err
	}
	if m.Arch != nil && m.Arch.Scheme == "learned" && m.Kind == report.KindModel && len(m.sites) == 0 {
		return &position.Refusal{Why: "the table " + table.TensorName + ", which would have to grow, is not there as a matrix", Instead: "convert the model again"}
	}
	const sparse = 1 << 20
	if m.Family() == "glm-dsa" && (old < sparse) != (new < sparse) {
		return &position.Refusal{Why: fmt.Sprintf("glm-dsa takes other attention layers as sparse when context_length crosses %d", sparse),
			Instead: "stay on the same side of that length"}
	}
	for _, s := range m.sites {
		if r, ok := s.(*rotary.Rope); ok {
			if err := r.Lengthen(); err != nil {
				return err
			}
		}
	}
	if p := m.Pair(arch.KeyContext); p != nil && !p.Type.IsInteger() {
		return &position.Refusal{Why: fmt.Sprintf("%s is a %s, not a number", m.Key(arch.KeyContext), p.Type), Instead: "convert the model again"}
	}
	m.Edit.Set(m.Key(arch.KeyContext), gguf.Uint32(uint32(new)), "stated length")
	return nil
}

// Edits returns the plan of everything that was recorded.
func (m *model) Edits() (patch.Plan, error) {
	if m.Edit.Changed() {
		if err := m.CheckEditable(); err != nil {
			return patch.Plan{}, err
		}
	}
	return m.Edit.Plan()
}

// OutputNames gives the shards of a split model names that belong together,
// for they are found by name.
func (m *model) OutputNames(target string) (root string, further []string) {
	n := len(m.File.Parts)
	if n == 1 {
		return target, nil
	}
	names := gguf.ShardNames(target, n)
	return names[0], names[1:]
}
