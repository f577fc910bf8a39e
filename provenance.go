package modelpatch

import (
	"time"

	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/verdict"
	"github.com/modelpatch/modelpatch/report"
)

// ReadPlan reads the plan of a change: what a changing command printed with --json, the statement that it wrote with
// --provenance, or its patch or undo patch.
func ReadPlan(path string) (*report.Plan, error) { return verdict.ReadPlan(path) }

// Provenance is an in-toto statement (v1) with SLSA provenance (v1) about a change that was made with
// WriteOptions.Provenance: its subjects are the files that were written, its dependencies those that
// were read, and its parameters the command. version is that of the program which made it. Whoever
// vouches for the change signs it, for instance with cosign attest-blob.
func Provenance(r Result, version string, began, ended time.Time) ([]byte, error) {
	return change.Provenance(r.Plan, r.inputs, version, began, ended)
}
