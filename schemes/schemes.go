// Package schemes is the mathematics of positions: what each scheme of
// position encoding computes, in float64, as plain values without files.
//
// Start with Rotary, Sinusoid, ALiBi, Buckets and Learned; each is a Scheme.
// Rotary.Rotator and Sinusoid.Table compute rows, in float64 or in the float32
// steps of the program that made a file (Recipe); GrowRows lengthens a learned
// table.
// Package schemes/fit is the inverse: from numbers back to a scheme.
package schemes

// Scheme is one way of encoding position with its parameters: plain data.
type Scheme interface {
	// Name is the word for the scheme in reports ("rope", "learned", …).
	Name() string
	// Equal reports whether two schemes compute the same numbers.
	Equal(Scheme) bool
	// String says it in a line for people.
	String() string
}

// Layouts of a rotary encoding.
const (
	LayoutHalf        = "half"        // pairs (i, i+d/2): GPT-NeoX
	LayoutInterleaved = "interleaved" // pairs (2i, 2i+1): GPT-J; also sin, cos alternating in a Sinusoid
	LayoutSinCos      = "sin-cos"     // Sinusoid: first half sines
	LayoutCosSin      = "cos-sin"     // Sinusoid: first half cosines
	// LayoutInterleavedCosSin is a Sinusoid of alternating cos, sin.
	LayoutInterleavedCosSin = "interleaved-cos-sin"
)

// Denominators of a sinusoid's exponent.
const (
	DenominatorHalf         = "half"   // d/2
	DenominatorHalfMinusOne = "half-1" // d/2 − 1
)

// Rotary is RoPE (Su et al. 2021): pairs of query and key elements are turned
// by position · inverse frequency.
type Rotary struct {
	Base                float64
	BaseAssumed         bool   // nothing tells Base: the frequencies follow no formula
	Dim                 int    // rotary_dim: elements that turn, of HeadDim
	HeadDim             int    // 0: unknown
	Layout              string // LayoutHalf or LayoutInterleaved; "" unknown
	Sections            []int  // M-RoPE: pairs for t, h, w, and a fourth that text does not turn; nil otherwise
	InterleavedSections bool
	Given               bool  // the caller computes cosines and sines: Base and Scaling are in no file
	OwnFrequencies      bool  // each section has the frequencies of a rotation of as many pairs, not a run of one list (FLUX)
	Grid                []int // height and width in patches that a table of an image is for; nil otherwise
	Scaling             Scaling
}

// Scaling changes a Rotary's frequencies and amplitude. The zero value is none.
type Scaling struct {
	Type            string    // the name of a ScalingType; "" is ScalingNone
	Factor          float64   // 0: not known or not applicable
	OriginalLength  int       // 0: not known
	AttentionFactor float64   // amplitude of cos and sin as computed; 0: the type's own, see Rotary.Amplitude
	BetaFast        float64   // YaRN; 0: default 32
	BetaSlow        float64   // YaRN; 0: default 1
	NoTruncate      bool      // YaRN: ramp bounds are not rounded outwards
	LowFreqFactor   float64   // llama3
	HighFreqFactor  float64   // llama3
	Rotated         int       // pairs that turn; the rest up to Dim/2 stand still (proportional); 0: all turn
	ShortFactor     []float64 // longrope: divisors of the frequencies, len = Dim/2
	LongFactor      []float64
	// Frequencies, when set, are the inverse frequencies themselves (len Dim/2),
	// scaling included: a file's own numbers, or ScalingCustom.
	Frequencies []float64
	// LongFrequencies, when set, are those used beyond OriginalLength.
	LongFrequencies []float64
}

// Sinusoid is the additive sinusoidal encoding (Vaswani et al. 2017, §3.5):
// angle(p, k) = (p + Start) · Base^(−k/den), k = 0 … Dim/2−1.
type Sinusoid struct {
	Dim         int
	Base        float64
	Layout      string  // LayoutInterleaved, LayoutSinCos, LayoutCosSin
	Denominator string  // DenominatorHalf, DenominatorHalfMinusOne
	Amplitude   float64 // 0 means 1
	Start       float64 // angle's position of row 0
	Rows        int     // rows in a table, 0: no table
	Offset      int     // rows before the first used one
	ZeroRows    []int   // padding rows that hold zeros
	Recipe      Recipe  // rounding steps that the table's maker used
	Grid        []int   // pictures [h, w], videos and volumes [t, h, w]; nil otherwise
	// AxisColumns are the columns of each axis of a grid, whose sines and cosines Layout orders;
	// others hold zeros. nil: a run of as many for each, in the order of the axes.
	AxisColumns [][]int
	Step        float64 // grids: positions from patch to patch; 0 means 1
	// ColumnStep and ColumnStart are Step and Start of the columns of a grid where they are not
	// those of its rows (DETR: each axis spans one turn); a ColumnStep of 0 means that they are.
	ColumnStep, ColumnStart float64
	Prefix                  int // grids: rows of zeros before the grid's
	// Frequencies, when set, are those a file's own rows were made with, Base
	// and Denominator rounded as its maker did: one per pair. They let rows be
	// added that are bit-equal to what the maker would have written.
	Frequencies []float64
}

// Learned is a trained table of absolute positions.
type Learned struct {
	Rows, Dim int
	Offset    int   // rows before the first used one
	Grid      []int // images: [h, w]
	Prefix    int   // images: extra tokens' rows
}

// ALiBi is a linear bias on attention scores (Press et al. 2022).
type ALiBi struct {
	Heads   int
	MaxBias float64   // 8 in the paper; 0: unknown
	Slopes  []float64 // one a head; nil: computed from Heads and MaxBias
}

// Buckets is T5's learned bias per bucket of relative distance.
type Buckets struct {
	Buckets, MaxDistance int
	Bidirectional        bool
	Heads                int
}

// Other is a scheme that is recognised and not computed here: relative
// tables, relative sinusoids, disentangled attention, convolutions, none.
type Other struct {
	Kind        string // the report's word
	Rows        int
	Dim         int
	Base        float64
	Heads       int
	Window      []int
	Buckets     int
	MaxDistance int
	Order       string // none: why, one of Order…
	// Bidirectional is whether T5's buckets tell keys ahead from those behind; nil: not known.
	Bidirectional *bool
}

// What tells positions apart where no encoding does (Other.Order).
const (
	OrderEquivariant = "equivariant" // nothing: permuting the input's positions permutes the outputs
	OrderMask        = "mask"        // causal or window masks alone
	OrderOperators   = "operators"   // recurrence, convolution, shifts
)

// Recipe names the rounding steps by which a table was made (facts/NUMERICS §1).
type Recipe string

// Recipes that exporters use.
const (
	RecipeExact Recipe = ""     // float64 throughout, one cast (Marian, DistilBERT, MAE)
	RecipePow   Recipe = "pow"  // float32 powf, product, cosf (transformers' RoPE, GPT-J, CTRL)
	RecipeExp   Recipe = "exp"  // float32 expf of a product (fairseq, tensor2tensor, Whisper)
	RecipeGGML  Recipe = "ggml" // float32 repeated product (ggml's rope operator)
)
