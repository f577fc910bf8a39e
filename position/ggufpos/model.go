package ggufpos

import (
	"fmt"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// model is an opened GGUF file as positions see it.
type model struct {
	file       *gguf.File
	edit       *gguf.Editor
	name       string // general.architecture
	arch       *Arch  // nil: not known
	kind       string
	sites      []position.Site
	attentions []*position.Attention
	looked     bool // attentions were looked for
	findings   []report.Finding
	arrays     map[string][]float64 // numeric arrays by key
	headCount  *int                 // see heads; nil: not yet counted
	removed    []*gguf.Tensor       // divisors that are to go
}

// Open finds the position encodings of a GGUF file. The model owns the file
// from now on: its Close closes it.
func Open(file *gguf.File) (position.Model, error) {
	m := &model{file: file, edit: file.Edit()}
	m.name, _ = file.String("general.architecture")
	m.name = m.name[:min(len(m.name), gguf.MaxNameBytes)] // no key begins with more
	m.arch = archOf(m.name)
	m.kind = m.decideKind()
	m.oddities()
	m.find()
	m.check()
	return m, nil
}

// OpenEdited finds the position encodings of the file again, which has been
// edited in place since m was opened.
func (m *model) OpenEdited(path string) (position.Model, error) {
	f, err := gguf.OpenEdited(path, m.file)
	if err != nil {
		return nil, err
	}
	return Open(f)
}

// find adds the sites of whatever kind of file this is.
func (m *model) find() {
	switch m.kind {
	case report.KindProjector:
		m.findProjector()
	case report.KindModel, report.KindVocabulary:
		m.findModel()
	}
}

// findModel adds the sites of a text model, as its architecture has them.
func (m *model) findModel() {
	if m.arch == nil {
		m.findUnknown()
		return
	}
	switch m.arch.Scheme {
	case "rope":
		m.findRope()
	case "learned":
		m.findTable()
	case "alibi":
		m.findALiBi()
	case "t5-bias":
		m.findT5()
	case "none":
		m.addNone("architecture " + m.name + " has no position encoding")
	case "unimplemented":
		m.findUnknown()
	}
}

// Sites returns the places that encode position.
func (m *model) Sites() []position.Site { return m.sites }

// Attentions returns the model's attentions, which are looked for when first
// asked for.
func (m *model) Attentions() []*position.Attention {
	if !m.looked {
		m.looked = true
		m.findAttentions()
	}
	return m.attentions
}

// Findings returns what the file's owner should know.
func (m *model) Findings() []report.Finding { return m.findings }

// Close closes the file.
func (m *model) Close() error { return m.file.Close() }

// Describe says what the file is.
func (m *model) Describe() report.Inspect {
	first := m.file.Parts[0]
	r := report.Inspect{Path: first.Path, Format: position.FormatGGUF, Bytes: first.Size, Kind: m.kind}
	for _, p := range m.file.Parts[1:] {
		r.Files = append(r.Files, report.File{Path: report.Name(p.Path), Bytes: p.Size})
	}
	if m.name != "" {
		r.Architecture = report.Pointer(report.Name(m.name))
	}
	if n, ok := m.pair(keyContext).Uint(); ok && n <= maxStated && m.speaks() {
		r.Length.Stated = report.Pointer(int(n))
	}
	return r
}

// maxStated is the longest length that is passed on as the file states it,
// sense or not.
const maxStated = 1 << 53

// speaks reports whether the file's own keys are a model's.
func (m *model) speaks() bool {
	return m.kind == report.KindModel || m.kind == report.KindVocabulary || m.kind == report.KindOther
}

// SetLength states another length. Where the original length of a scaling is
// taken from the stated one, it is written down first: raising
// context_length alone would change YaRN (facts/GGUF-FACTS §b).
func (m *model) SetLength(old, new int) error {
	if !m.speaks() {
		return nil
	}
	if err := m.editable(); err != nil {
		return err
	}
	if m.arch != nil && m.arch.Scheme == "learned" && m.kind == report.KindModel && len(m.sites) == 0 {
		return &position.Refusal{Why: "the table " + nameTable + ", which would have to grow, is not there as a matrix", Instead: "convert the model again"}
	}
	const sparse = 1 << 20
	if m.name == "glm-dsa" && (old < sparse) != (new < sparse) {
		return &position.Refusal{Why: fmt.Sprintf("glm-dsa takes other attention layers as sparse when context_length crosses %d", sparse),
			Instead: "stay on the same side of that length"}
	}
	for _, s := range m.sites {
		r, ok := s.(*rope)
		if !ok {
			continue
		}
		if err := r.usable(!r.rebased, !r.held); err != nil {
			return err
		}
		r.pinOriginal()
	}
	if p := m.pair(keyContext); p != nil && !p.Type.IsInteger() {
		return &position.Refusal{Why: fmt.Sprintf("%s is a %s, not a number", m.key(keyContext), p.Type), Instead: "convert the model again"}
	}
	m.edit.Set(m.key(keyContext), gguf.Uint32(uint32(new)), "stated length")
	return nil
}

// Edits returns the plan of everything that was recorded.
func (m *model) Edits() (patch.Plan, error) {
	if m.edit.Changed() {
		if err := m.editable(); err != nil {
			return patch.Plan{}, err
		}
	}
	return m.edit.Plan()
}

// editable refuses files that engines refuse whatever is edited: the result
// could not be used (facts/BAD-INPUTS H04).
func (m *model) editable() error {
	for _, o := range m.file.Oddities() {
		if o.Refused {
			return &position.Refusal{Why: "llama.cpp cannot load this file as it is: " + o.Says, Instead: "write it again with its converter, then edit it"}
		}
	}
	return nil
}

// OutputNames gives the shards of a split model names that belong together,
// for they are found by name.
func (m *model) OutputNames(target string) (root string, further []string) {
	n := len(m.file.Parts)
	if n == 1 {
		return target, nil
	}
	names := gguf.ShardNames(target, n)
	return names[0], names[1:]
}
