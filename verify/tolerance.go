package verify

import "github.com/modelpatch/modelpatch/report"

// Tolerances of the checks, by name.
var (
	// bitwise: the same bytes, or the same float64 numbers from them.
	bitwise = report.Tolerance{Name: "bitwise", Value: 0}
	// float64Roundoff: two orders of the same float64 sums (relative to the
	// largest output).
	float64Roundoff = report.Tolerance{Name: "float64-roundoff", Value: 1e-12}
	// float32Angle: per position, how far a cosine of a float32 angle is from
	// the exact one: |Δ| ≤ 2e-7·p + 2e-7 (facts/NUMERICS §1).
	float32Angle = report.Tolerance{Name: "float32-angle-per-position", Value: 2e-7}
	// halfAngle, brainAngle: how far an angle is off, as a part of it, of which the graph rounds the position, the frequency and their product
	// to 16 bits: half a step of each.
	halfAngle  = report.Tolerance{Name: "float16-angle", Value: 1.5e-3}
	brainAngle = report.Tolerance{Name: "bfloat16-angle", Value: 1.2e-2}
	// storedNumbers: an attention whose encoding is computed in the one file and stored in
	// float32 in the other: an angle of some fifty positions in float32 (relative to the
	// largest output).
	storedNumbers = report.Tolerance{Name: "stored-numbers", Value: 1e-5}
	// storage: the relative steps of storage types, one rounding each.
	halfStorage  = report.Tolerance{Name: "float16-storage", Value: 1e-3}
	brainStorage = report.Tolerance{Name: "bfloat16-storage", Value: 8e-3}
)
