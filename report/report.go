// Package report holds the Go types of modelpatch's machine-readable output:
// what inspect, the changing commands and verify say. The types are a leaf:
// every other package may fill them, they know nothing of formats.
//
// The contract may only grow: field names, their order and the words used as
// values are what other people's scripts read.
package report

import (
	"encoding/json"
	"slices"
)

// Schema identifiers, the first field of every JSON object.
const (
	SchemaInspect = "modelpatch.inspect/1"
	SchemaPlan    = "modelpatch.plan/1"
	SchemaVerify  = "modelpatch.verify/1"
	SchemaError   = "modelpatch.error/1"
	// SchemaProgress is the first field of what --progress=json tells on standard error.
	SchemaProgress = "modelpatch.progress/1"
)

// Words for what happens one position beyond an encoding's capacity.
const (
	BeyondError     = "error"     // the engine or the graph fails
	BeyondClamps    = "clamps"    // the last row or value is used again
	BeyondWrong     = "wrong"     // runs, and the numbers are silently wrong
	BeyondContinues = "continues" // a formula goes on; nothing bounds it
	BeyondUnknown   = "unknown"
)

// Words for a scheme of position encoding.
const (
	SchemeLearned          = "learned"
	SchemeSinusoidal       = "sinusoidal"
	SchemeRope             = "rope"
	SchemeAlibi            = "alibi"
	SchemeT5Bias           = "t5-bias"
	SchemeRelativeTable    = "relative-table"
	SchemeRelativeSinusoid = "relative-sinusoid"
	SchemeDisentangled     = "disentangled"
	SchemeConv             = "conv"
	SchemeNone             = "none"
	SchemeUnknown          = "unknown"
)

// Schemes are all words for a scheme.
var Schemes = []string{SchemeLearned, SchemeSinusoidal, SchemeRope, SchemeAlibi, SchemeT5Bias, SchemeRelativeTable, SchemeRelativeSinusoid,
	SchemeDisentangled, SchemeConv, SchemeNone, SchemeUnknown}

// Words for the form in which a file holds a scheme.
const (
	FormKeys    = "keys"    // the engine computes it from metadata keys
	FormTable   = "table"   // rows in the file, gathered or sliced by position
	FormCache   = "cache"   // cos and sin tables in the file
	FormRuntime = "runtime" // the graph computes it from positions
	FormBaked   = "baked"   // a constant of one fixed length, used whole
)

// Words for how much a change alters outputs.
const (
	ExpectSame         = "same"
	ExpectSameOnPrefix = "same-on-prefix"
	ExpectChanged      = "changed"
	ExpectUnknown      = "unknown" // nobody says: of a patch between two files of others
)

// Expectations are the words that say something, each allowing more than those before it.
var Expectations = []string{ExpectSame, ExpectSameOnPrefix, ExpectChanged}

// Looser is the one of two expectations that allows more.
func Looser(a, b string) string {
	if b == ExpectUnknown || a != ExpectUnknown && slices.Index(Expectations, b) > slices.Index(Expectations, a) {
		return b
	}
	return a
}

// Expected is what changes allow together.
func Expected(changes []Change) string {
	out := ExpectSame
	for _, c := range changes {
		out = Looser(out, c.Expect)
	}
	return out
}

// Words for parameters that an engine takes by default.
const (
	DefaultBase           = "base"
	DefaultRotaryDim      = "rotary_dim"
	DefaultOriginalLength = "scaling.original_length"
)

// Levels of a finding.
const (
	LevelError   = "error"
	LevelWarning = "warning"
	LevelNote    = "note"
)

// Kinds of file that inspect tells apart.
const (
	KindModel         = "model"
	KindProjector     = "projector"
	KindAdapter       = "adapter"
	KindImatrix       = "imatrix"
	KindControlVector = "control-vector"
	KindVocabulary    = "vocabulary"
	KindOther         = "other"
)

// Inspect is what inspect says about one model.
type Inspect struct {
	Schema       string     `json:"schema"`
	Path         string     `json:"path"`
	Format       string     `json:"format"`
	Bytes        int64      `json:"bytes"`
	Files        []File     `json:"files"`
	Kind         string     `json:"kind"`
	Architecture *string    `json:"architecture"`
	Producer     *string    `json:"producer"`
	Length       Length     `json:"length"`
	Encodings    []Encoding `json:"encodings"`
	Findings     []Finding  `json:"findings"`
}

// File is a further file that belongs to a model: a shard or external data.
type File struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// Length sums up how far a model counts, in positions.
type Length struct {
	Stated   *int   `json:"stated"`   // what the file says, nil when it does not
	Capacity *int   `json:"capacity"` // what it encodes correctly, nil where nothing bounds it and where that is not known: see Limit
	Beyond   string `json:"beyond"`
	// Picture is the height and width in pixels of the pictures that the model takes, to which engines of GGUF
	// files scale every other; Frames is how many of them a video has; Multiple is what the sides of pictures are multiples of, of that size and
	// of others.
	Picture  []int `json:"picture,omitempty"`
	Frames   int   `json:"frames,omitempty"`
	Multiple int   `json:"multiple,omitempty"`
}

// Encoding is one mechanism of position as the model uses it.
type Encoding struct {
	ID         string     `json:"id"`
	Scheme     string     `json:"scheme"`
	Form       *string    `json:"form"` // nil for none and conv
	Capacity   *int       `json:"capacity"`
	Beyond     string     `json:"beyond"`
	Layers     Layers     `json:"layers"`
	Parameters Parameters `json:"parameters"`
	Where      []Where    `json:"where"`
	Evidence   []Evidence `json:"evidence"`
	Also       []Reading  `json:"also"`
	// Notes are sentences on what the engine does with the encoding that the parameters do not tell.
	Notes []string `json:"notes,omitempty"`
}

// Parameters are a scheme's parameters. A nil or empty field does not apply.
type Parameters struct {
	Rows                *int     `json:"rows,omitempty"`
	Dim                 *int     `json:"dim,omitempty"`
	Offset              *int     `json:"offset,omitempty"`
	Dtype               string   `json:"dtype,omitempty"`
	Grid                []int    `json:"grid,omitempty"`
	Prefix              *int     `json:"prefix,omitempty"`
	Base                *Number  `json:"base,omitempty"`
	RotaryDim           *int     `json:"rotary_dim,omitempty"`
	HeadDim             *int     `json:"head_dim,omitempty"`
	Layout              string   `json:"layout,omitempty"`
	Denominator         string   `json:"denominator,omitempty"`
	Amplitude           *Number  `json:"amplitude,omitempty"`
	Sections            []int    `json:"sections,omitempty"`
	InterleavedSections *bool    `json:"interleaved_sections,omitempty"`
	Scaling             *Scaling `json:"scaling,omitempty"`
	Heads               *int     `json:"heads,omitempty"`
	MaxBias             *Number  `json:"max_bias,omitempty"`
	Slopes              []Number `json:"slopes,omitempty"`
	Buckets             *int     `json:"buckets,omitempty"`
	MaxDistance         *int     `json:"max_distance,omitempty"`
	Bidirectional       *bool    `json:"bidirectional,omitempty"`
	Window              []int    `json:"window,omitempty"`
	Order               string   `json:"order,omitempty"` // of none: schemes.Order…
	// WindowLayers are the layers with Window (rope: one number, positions that a query looks back) or
	// Chunk; absent: all of the encoding's.
	WindowLayers Layers `json:"window_layers,omitempty"`
	// WindowSinks are the first positions that all queries see beside Window; nil: none.
	WindowSinks *int `json:"window_sinks,omitempty"`
	// Chunk is the number of positions beyond whose begin no query of the layers looks.
	Chunk       *int         `json:"chunk,omitempty"`
	Temperature *Temperature `json:"temperature,omitempty"`
	// Unrotated are layers with attention and without rotation.
	Unrotated Layers `json:"unrotated_layers,omitempty"`
	// Sinks tells that each head has a logit to which no key belongs.
	Sinks bool `json:"sinks,omitempty"`
	// Defaults are the parameters that the file does not state: the engine's defaults (Default…).
	Defaults []string `json:"defaults,omitempty"`
}

// Temperature multiplies queries by 1 + Scale·ln(⌊position/Length⌋ + 1), with Logarithm by ln(position + 1)/ln(Length)
// from Length on, in Layers ("all", or a list).
type Temperature struct {
	Scale     Number `json:"scale"`
	Length    Number `json:"length"`
	Logarithm bool   `json:"logarithm,omitempty"`
	Layers    Layers `json:"layers"`
}

// Scaling is how a rotary encoding's frequencies were changed.
type Scaling struct {
	Type            string   `json:"type"`
	Factor          *Number  `json:"factor,omitempty"`
	OriginalLength  *int     `json:"original_length,omitempty"`
	AttentionFactor *Number  `json:"attention_factor,omitempty"`
	BetaFast        *Number  `json:"beta_fast,omitempty"`
	BetaSlow        *Number  `json:"beta_slow,omitempty"`
	Truncate        *bool    `json:"truncate,omitempty"`
	LowFreqFactor   *Number  `json:"low_freq_factor,omitempty"`
	HighFreqFactor  *Number  `json:"high_freq_factor,omitempty"`
	ShortFactor     []Number `json:"short_factor,omitempty"`
	LongFactor      []Number `json:"long_factor,omitempty"`
}

// Where is a place in a model. Range is [first, end) in bytes of File, or of
// the model's main file when File is empty.
type Where struct {
	Tensor string    `json:"tensor,omitempty"`
	Node   string    `json:"node,omitempty"`
	Key    string    `json:"key,omitempty"`
	File   string    `json:"file,omitempty"`
	Range  *[2]int64 `json:"range,omitempty"`
}

// Evidence is one reason for a claim. Kind is architecture, key, fit or
// structure; Residual is the fit's largest deviation, where Kind is fit.
type Evidence struct {
	Kind     string  `json:"kind"`
	Says     string  `json:"says"`
	Residual *Number `json:"residual,omitempty"`
}

// Reading is another scheme that the same numbers fit equally well.
type Reading struct {
	Scheme     string     `json:"scheme"`
	Parameters Parameters `json:"parameters"`
	Why        string     `json:"why"`
}

// Finding is something about a file that its owner should know.
type Finding struct {
	Rule    string `json:"rule"`
	Level   string `json:"level"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Where   *Where `json:"where,omitempty"`
	// Remedies are what would mend it, as verbs and options of this tool.
	Remedies []Remedy `json:"remedies,omitempty"`
}

// Plan is what a changing command will do, or has done.
type Plan struct {
	Schema   string    `json:"schema"`
	Path     string    `json:"path"`
	Command  string    `json:"command"`
	Changes  []Change  `json:"changes"`
	Edits    []Edit    `json:"edits"`
	Sidecars []Sidecar `json:"sidecars"`
	Written  []Written `json:"written"`
	// Removed are undo patches of changes that are taken back.
	Removed  []string `json:"removed,omitempty"`
	Verified *Verify  `json:"verified"`
	// Notes are sentences about the result: what was assumed, what it lacks.
	Notes []string `json:"notes,omitempty"`
	// Findings are faults of level error that the change leaves in the file.
	Findings []Finding `json:"findings,omitempty"`
	// Request is the verb with all of its options: verify makes the change again.
	Request *Request `json:"request,omitempty"`
}

// RequestJSON returns the request as a patch file has it, nil if there is none.
func (p *Plan) RequestJSON() json.RawMessage {
	if p.Request == nil {
		return nil
	}
	b, err := json.Marshal(p.Request)
	if err != nil {
		return nil // it was read as JSON, or made of options
	}
	return b
}

// Request is a verb of the library and its options.
type Request struct {
	Verb    string          `json:"verb"`
	Options json.RawMessage `json:"options"`
	// Assume is the architecture that the file was taken for, its own not being known.
	Assume string `json:"assume,omitempty"`
}

// Change is one decision of a verb, in words, about one encoding.
type Change struct {
	Encoding  string `json:"encoding"`
	What      string `json:"what"`
	Expect    string `json:"expect"`
	Tolerance Number `json:"tolerance"`
	// To are the parameters that the encoding has after the change; nil where
	// the change is not one of parameters.
	To *Parameters `json:"to,omitempty"`
}

// Edit replaces Range of File by Bytes new bytes.
type Edit struct {
	File  string   `json:"file"`
	Range [2]int64 `json:"range"`
	Bytes int64    `json:"bytes"`
	Why   string   `json:"why"`
}

// Sidecar is a value in a file beside the model that states the length.
type Sidecar struct {
	Path    string `json:"path"` // the file that gets the new value, or would get it
	Pointer string `json:"pointer"`
	From    Number `json:"from"`
	To      Number `json:"to"`
	Written bool   `json:"written"`
	Why     string `json:"why,omitempty"`    // it is not written
	Backup  string `json:"backup,omitempty"` // the file that holds the old value: a copy or an undo patch
}

// Written is a file that a command wrote. How is new, in-place or patch.
type Written struct {
	Path   string  `json:"path"`
	Bytes  int64   `json:"bytes"`
	SHA256 *string `json:"sha256"`
	How    string  `json:"how"`
}

// Verdicts of verify.
const (
	VerdictSame             = "same"
	VerdictSameOnPrefix     = "same-on-prefix"
	VerdictChangedAsPlanned = "changed-as-planned"
	VerdictConsistent       = "consistent"
	VerdictDifferent        = "different"
	VerdictBroken           = "broken"
)

// Verdicts of one check.
const (
	CheckPass    = "pass"
	CheckFail    = "fail"
	CheckSkipped = "skipped"
)

// Names of checks.
const (
	CheckPlan          = "plan"           // the new file against the planned change, made again
	CheckStructure     = "structure"      // which encodings both files have
	CheckBytes         = "bytes"          // everything that is no encoding
	CheckTable         = "table"          // numbers of encodings
	CheckAttention     = "attention"      // attentions that are run
	CheckProperties    = "properties"     // laws that encodings obey, and what was promised
	CheckSecondOpinion = "second-opinion" // attentions that other code runs
	CheckEngine        = "engine"         // whole models that an engine runs
)

// Verify is the outcome of comparing two models, or of checking one.
type Verify struct {
	Schema  string  `json:"schema"`
	Before  string  `json:"before"`
	After   string  `json:"after"`
	Verdict string  `json:"verdict"`
	Summary string  `json:"summary"` // the verdict in a sentence: what differs, and where
	Checks  []Check `json:"checks"`
	// Hints are command lines that would tell more.
	Hints []string `json:"hints,omitempty"`
}

// Check is one of verify's checks.
type Check struct {
	Name      string     `json:"name"`    // CheckPlan …
	Verdict   string     `json:"verdict"` // CheckPass …
	Why       string     `json:"why,omitempty"`
	Measure   *Measure   `json:"measure,omitempty"`
	Tolerance *Tolerance `json:"tolerance,omitempty"`
	At        *At        `json:"at,omitempty"`
	Inputs    string     `json:"inputs,omitempty"` // weights or seeded
}

// Measure is the largest difference seen.
type Measure struct {
	MaxAbs Number  `json:"max_abs"`
	MaxRel Number  `json:"max_rel"`
	MaxULP *Number `json:"max_ulp,omitempty"`
}

// Tolerance names the bound that a Measure was held against.
type Tolerance struct {
	Name  string `json:"name"`
	Value Number `json:"value"`
}

// At is where the largest difference stood.
type At struct {
	Layer    *int   `json:"layer,omitempty"`
	Head     *int   `json:"head,omitempty"`
	Position *int   `json:"position,omitempty"`
	Where    *Where `json:"where,omitempty"`
}

// Progress tells how far a run is; Done is Total at the end of what succeeds. Changes in place, patches and
// comparisons without large tensors tell nothing.
type Progress struct {
	Schema string `json:"schema"`
	Doing  string `json:"doing"` // writing or comparing
	Done   int64  `json:"done"`  // bytes
	Total  int64  `json:"total"` // bytes
}

// Error is printed in place of a report when an input cannot be worked on.
type Error struct {
	Schema string   `json:"schema"`
	Path   string   `json:"path"`
	Code   int      `json:"code"`
	Error  string   `json:"error"`
	Hints  []string `json:"hints"`
	// Remedies are those of the hints that are options of this tool, as values.
	Remedies []Remedy `json:"remedies,omitempty"`
}
