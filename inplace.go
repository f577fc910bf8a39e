package modelpatch

import (
	"context"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// writeInPlace changes the input itself.
func (c *change) writeInPlace(context.Context, patch.Plan, *report.Plan) error {
	return &UsageError{What: "--in-place is not available in this build", Hint: "-o NEW writes a new file"}
}
