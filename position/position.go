// Package position is the format-free middle of modelpatch: what a place that
// encodes position is (Site), what a verb wants of it (Want), and the verbs
// themselves, one file each. Formats find sites and hold numbers; the verbs
// here decide them; the mathematics is in package schemes.
//
// A Model is opened by position/ggufpos or position/onnxpos. A verb
// (Extend, Rescale, AddALiBi) changes its sites; Model.Edits is then the plan.
// A model whose verb returned an error is thrown away, never written.
package position

import (
	"cmp"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Encoding is one mechanism of position as a model uses it.
type Encoding struct {
	Scheme   schemes.Scheme
	Form     string // report.Form…; "" for none and conv
	Capacity int    // positions encoded correctly; 0: nothing bounds it
	Rows     int    // rows of a cache, where they differ from Capacity; 0: the same
	Beyond   string // report.Beyond…
	// Apart tells that its capacity bounds no length: its positions lie along an axis of one size, whatever the length (of another input,
	// say), or are counted anew again and again, and others tell the turns apart.
	Apart  bool
	Factor float64 // that the graph multiplies all rows of its table with before they are added; 0: none
	// Attending is what its attentions make of positions beside it.
	Attending schemes.Attending
	Layers    []int    // layers that use it; nil: all
	Dtype     string   // storage type of its table, in the report's words
	Defaults  []string // parameters that the file does not state: report.Default…
	Where     []report.Where
	Evidence  []report.Evidence
	Also      []report.Reading
}

// IsGrid reports whether the encoding is of image patches: its size is that of the picture, not a length of text.
func (e Encoding) IsGrid() bool { return e.Grid() != nil }

// Bounds reports whether the encoding bounds the length of a text, series or recording.
func (e Encoding) Bounds() bool { return e.Capacity > 0 && !e.IsGrid() && !e.Apart }

// Grid is how many places lie along each axis of the grid of a picture or video; nil where they lie along none.
func (e Encoding) Grid() []int {
	switch s := e.Scheme.(type) {
	case schemes.Learned:
		return s.Grid
	case schemes.Sinusoid:
		return s.Grid
	case schemes.Rotary:
		return s.Grid
	}
	return nil
}

// Site is one encoding together with the places in the file that hold it.
// A site may own several tensors (cos and sin, both branches of an If).
type Site interface {
	Encoding() Encoding
	// Store stores the wanted numbers in this site's form, as edits of the
	// model's plan. It returns a *Refusal when this form cannot hold them.
	Store(want Want) error
}

// Want is what a verb asks a site to hold.
type Want struct {
	Scheme    schemes.Scheme
	Positions int       // length to be encoded; 0: as now
	Rows      RowSource // rows that no formula gives; nil: the scheme's formula
	// Cut tells that positions beyond Positions go: the others stay as they are.
	Cut bool
	// Anew tells that the scheme was asked for as a whole and not worked out from
	// what is there, which may make no sense then.
	Anew bool
}

// RowSource gives the rows of a table that is to be stored. It is read when
// the plan is applied, so that large tables are never held whole.
type RowSource interface {
	// Len is the number of rows, those before the offset included.
	Len() int
	// Kept is the number of leading rows that are the site's own, to be
	// copied as bytes and never recomputed.
	Kept() int
	// Row computes row i ≥ Kept into dst (one float64 per column).
	Row(i int, dst []float64) error
}

// Rows is implemented by sites whose encoding is a table of rows that are
// added to embeddings (learned, sinusoidal). Row 0 is the table's first,
// whether or not a position uses it.
type Rows interface {
	Len() int
	Dim() int
	Row(i int, dst []float64) error // a row that is not there is an error
}

// Rotator is implemented by sites of rotary encodings: it reads what the file
// itself computes, from cache, frequencies or keys, for an input of the given
// length (which matters to LongRoPE). cos and sin have Dim/2 elements and
// include the attention factor.
type Rotator interface {
	Rotation(position, length int, cos, sin []float64) error
}

// Confirmer is implemented by sites whose tables follow a formula: Stray reads all of
// their rows, of which finding them read a sample, and tells of the first entry that is
// not what the formula of the others gives. ok is false where there is none, or no formula.
type Confirmer interface {
	Stray() (says string, at report.Where, ok bool)
}

// DistantBytes is the size from which a table of a model that is read from far away is not
// looked through, only to see whether its numbers are sound.
const DistantBytes = 256 << 10

// ReadFailer is implemented by models that can be read from elsewhere than a disk: the first
// error of reading, nil where there was none. What was found out about a model whose reading failed
// may be wrong.
type ReadFailer interface {
	ReadError() error
}

// Biaser is implemented by sites that add a bias to attention scores: to that of a query and a key, among
// length positions. A head that is not there is an error.
type Biaser interface {
	Bias(head, query, key, length int) (float64, error)
}

// Neutralizer is implemented by sites that can be made to have no effect
// without removing them (a table of zeros, a rotation by zero).
type Neutralizer interface {
	Neutralize() error
}

// Attention is one attention of a model: what verify needs to run it and
// alibi to add a bias to it.
type Attention struct {
	Layer          int
	Heads, KVHeads int
	HeadDim        int
	Causal         bool // keys behind the query are masked
	// Encodings are the indices (into Model.Sites) of the sites that act
	// inside this attention: rotations and biases. Added tables act before it.
	Encodings []int
	// Sees says whether a query sees a key beyond what Causal says: through a window; nil
	// for all.
	Sees func(query, key int) bool
	// Window reads how far queries look back, none for all the way; nil where Unsupported says why that is not read.
	Window func() schemes.SlidingWindow
	// Temperature reads by what queries are multiplied as their position grows; nil: nothing is.
	Temperature func() schemes.Temperature
	// Sinks tells that each head has a logit that no key belongs to.
	Sinks bool
	// Biases are what is added to the scores; nil for those of Encodings.
	Biases []Biaser
	// Run runs heads (nil: all) on seeded states of so many positions, or as many as the
	// file fixes. The same heads of two files of one model get the same states, position
	// by position. nil where Unsupported says why.
	Run func(positions int, heads []int) (*trial.Trial, error)
	// Unsupported says what of the file keeps the attention from being run; "" where it
	// is.
	Unsupported string
	// Inputs are the names of the graph's inputs whose places its queries and keys are, of another tower others; nil where that is not known.
	Inputs []string
	// Crosses tells that keys come from another sequence than queries, between
	// which there is no distance.
	Crosses bool
	// Closed says why no bias can be added; "" where AddBias is, or tells itself.
	Closed string
	// AddBias adds a bias to the scores of this attention, as edits; nil
	// where the file's form has no place for one.
	AddBias func(schemes.ALiBi) error
	// AddWindow hides keys outside of a window from the queries of this attention, as edits; nil where
	// the file's form has no place for that.
	AddWindow func(schemes.SlidingWindow) error
}

// Model is an opened model file as positions see it.
type Model interface {
	Sites() []Site
	Attentions() []*Attention
	Findings() []report.Finding
	// Describe fills what a report says about the file apart from encodings
	// and findings: format, kind, architecture, producer, files, stated length.
	Describe() report.Inspect
	// SetLength changes what belongs to no site when the length goes from old
	// to new: stated length, masks, shape constants, fixed dimensions.
	SetLength(old, new int) error
	// Edits returns the plan of everything that sites and SetLength recorded.
	Edits() (patch.Plan, error)
	Close() error
}

// OutputNamer is implemented by models of several files whose names depend on
// that of the first: the shards of a split model.
type OutputNamer interface {
	// OutputNames returns the name that the root file must have when target
	// is asked for, and those of the others, in the order of the plan's
	// outputs.
	OutputNames(target string) (root string, further []string)
}

// DataNamer is implemented by models whose data files are named after the model
// file and mentioned in it: they must know its path before Edits.
type DataNamer interface {
	NameData(target string)
}

// InputSizer is implemented by models with inputs of which the file leaves dimensions
// free although only one size fits: the size of a head in a cache.
type InputSizer interface {
	// InputSizes are these sizes, by the input's name: one a dimension, 0 where it is
	// free or the file states it, −1 where it is of cached tokens, of which there may be none.
	InputSizes() map[string][]int
}

// Deviator is implemented by sites of which the architecture tells what engines compute otherwise.
type Deviator interface {
	Deviations() []string // identifiers of package deviation
}

// deviations are the IDs that a site's architecture tells.
func deviations(s Site) []string {
	if by, ok := s.(Deviator); ok {
		return by.Deviations()
	}
	return nil
}

// Refusal is the error of a change that cannot be made to a model (exit
// code 4): why, and what would work instead.
type Refusal struct {
	Why     string
	Instead string
	// Remedies are what would work, as verbs and options of this tool.
	Remedies []report.Remedy
	// Range tells that numbers did not fit the storage type: others may.
	Range bool
}

// Error is why; Hints is what would work.
func (r *Refusal) Error() string { return r.Why }

// Hints returns what would work instead, for printing under the error.
func (r *Refusal) Hints() []string { return advice(r.Instead, r.Remedies) }

// Advice returns what would work as a sentence ("" where there is none) and as
// values, for callers who word them.
func (r *Refusal) Advice() (string, []report.Remedy) { return r.Instead, r.Remedies }

// UsageError is the error of a parameter that is wrong whatever the model, or of parameters that
// contradict each other (exit code 2).
type UsageError struct {
	What     string
	Hint     string          // what to do instead; may be empty
	Remedies []report.Remedy // what would be right, as options of this tool
}

// Error is what is wrong.
func (u *UsageError) Error() string { return u.What }

// Hints returns what to do instead.
func (u *UsageError) Hints() []string { return advice(u.Hint, u.Remedies) }

// Advice returns what to do instead, as a sentence ("" where there is none) and as values.
func (u *UsageError) Advice() (string, []report.Remedy) { return u.Hint, u.Remedies }

// advice is a sentence, where there is one, and the words of remedies.
func advice(sentence string, remedies []report.Remedy) []string {
	var out []string
	if sentence != "" {
		out = append(out, sentence)
	}
	for _, r := range remedies {
		out = append(out, r.String())
	}
	return out
}

// Report says the encoding in the words of the report contract.
func (e Encoding) Report(id string) report.Encoding {
	out := report.Encoding{
		ID: id, Scheme: report.SchemeUnknown, Capacity: parameters.Positive(e.Capacity), Beyond: cmp.Or(e.Beyond, report.BeyondUnknown), Layers: report.Layers(e.Layers),
		Parameters: e.parameters(), Where: append([]report.Where{}, e.Where...), Evidence: append([]report.Evidence{}, e.Evidence...), Also: append([]report.Reading{}, e.Also...), // never null
	}
	if e.Scheme != nil {
		out.Scheme = e.Scheme.Name()
	}
	if e.Form != "" {
		out.Form = report.Pointer(e.Form)
	}
	return out
}

// parameters are the scheme's parameters, with what the encoding adds to them: the storage type, the rows of a cache.
func (e Encoding) parameters() report.Parameters {
	p := parameters.Of(e.Scheme)
	p.Dtype, p.Defaults = e.Dtype, e.Defaults
	parameters.Attending(e.Attending, &p)
	parameters.Times(e.Factor, &p)
	if _, rotary := any(e.Scheme).(schemes.Rotary); rotary {
		if p.Rows = parameters.Positive(e.Rows); e.Form == report.FormCache {
			p.Rows = parameters.Positive(max(e.Rows, e.Capacity))
		}
	}
	return p
}

// EncodingName is the field's name for a scheme, as messages begin with it.
func EncodingName(s schemes.Scheme) string { return report.EncodingName(s.Name()) }
