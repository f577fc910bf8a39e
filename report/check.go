package report

// SchemaCheck is the first field of what check says about one file.
const SchemaCheck = "modelpatch.check/1"

// LevelOK is the level of a file without findings that count.
const LevelOK = "ok"

// Checked is what check says about one file.
type Checked struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`
	// Names are further paths of the same file: links to it.
	Names []string `json:"names,omitempty"`
	// Level is the gravest level of a finding that is neither waived nor in the
	// baseline: error, warning, note, or ok.
	Level    string           `json:"level"`
	Findings []CheckedFinding `json:"findings"`
	Facts    *CheckedFacts    `json:"facts,omitempty"` // nil where the file could not be read
}

// CheckedFinding is a finding with what the policy says of it.
type CheckedFinding struct {
	Finding
	// Fingerprint is the same for the same finding of the same file in the next run,
	// whatever lengths and offsets have become.
	Fingerprint string `json:"fingerprint"`
	// Waived is the reason of the waiver that covers it, and until when; nil: none does.
	Waived *string `json:"waived"`
	// Baseline tells that it was there when the baseline was written.
	Baseline bool `json:"baseline"`
}

// Counts reports whether a finding is neither waived nor in the baseline.
func (f CheckedFinding) Counts() bool { return f.Waived == nil && !f.Baseline }

// CheckedFacts are what rules and expectations are held against.
type CheckedFacts struct {
	Format       string   `json:"format"`
	Architecture *string  `json:"architecture"`
	Length       Length   `json:"length"`
	Schemes      []string `json:"schemes"`
}
