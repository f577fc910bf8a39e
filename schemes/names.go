package schemes

// Words for schemes, as reports use them.
const (
	NameLearned          = "learned"
	NameSinusoidal       = "sinusoidal"
	NameRope             = "rope"
	NameAlibi            = "alibi"
	NameT5Bias           = "t5-bias"
	NameRelativeTable    = "relative-table"
	NameRelativeSinusoid = "relative-sinusoid"
	NameDisentangled     = "disentangled"
	NameConv             = "conv"
	NameNone             = "none"
	NameUnknown          = "unknown"
)
