package verdict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// nearest makes the changes of requests again, one after the other, for a new file and in place where the
// format has both, and takes what comes nearer to the new file: in how many parts that differs. No changes
// come back where there was nothing to do. The caller closes the model.
func nearest(ctx context.Context, path string, steps []report.Request, open source.Options, after position.Model) (m position.Model, changes []report.Change, differ int, err error) {
	m, changes, err = change.Replay(ctx, path, steps, open, false)
	if err != nil {
		return nil, nil, 0, err
	}
	if differ, err = verify.Differing(m, after); err != nil {
		return nil, nil, 0, errors.Join(err, m.Close())
	}
	if differ == 0 || changes == nil || after.Describe().Format != position.FormatGGUF {
		return m, changes, differ, nil
	}
	placed, _, err := change.Replay(ctx, path, steps, open, true)
	if err != nil {
		return m, changes, differ, nil // it cannot be made in place
	}
	if n, err := verify.Differing(placed, after); err == nil && n < differ {
		return placed, changes, n, m.Close()
	}
	return m, changes, differ, placed.Close()
}

// planned makes a plan's change again, for verify to hold the new file against. A patch file tells no changes:
// they are what its command decides.
func planned(ctx context.Context, before string, after position.Model, plan *report.Plan, open source.Options, o *verify.Options) (position.Model, error) {
	if plan.Request == nil {
		o.NotMade = "the plan is of a version that did not tell the options"
		return nil, nil
	}
	m, changes, _, err := nearest(ctx, before, []report.Request{*plan.Request}, open, after)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		o.Unfit = fmt.Sprintf("the plan cannot be carried out on the old file: %v", err)
	case plan.Changes == nil:
		told := *plan
		told.Changes, o.Plan = changes, &told
	case !sameChanges(changes, plan.Changes):
		o.Unfit = "the plan is another one than its command makes of the old file"
	}
	return m, nil
}

// sameChanges compares decisions as JSON has them.
func sameChanges(a, b []report.Change) bool {
	if len(a) != len(b) || len(a) == 0 {
		return len(a) == len(b)
	}
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	if err1 != nil || err2 != nil {
		return false
	}
	var u, v any
	return json.Unmarshal(x, &u) == nil && json.Unmarshal(y, &v) == nil && reflect.DeepEqual(u, v)
}

// remade makes the change of a plan again, or without one that of the candidates which comes nearest to the new
// file; nil where none can be made. A record beside the files whose change gives just the new file is the plan.
func remade(ctx context.Context, path, afterPath string, before, after position.Model, open source.Options, v Options, o *verify.Options) (best position.Model, err error) {
	if v.Plan != nil {
		return planned(ctx, path, after, v.Plan, open, o)
	}
	if n, err := verify.Differing(before, after); v.Expect == report.ExpectSame || err == nil && n == 0 || verify.DeclaresAlone(before, after) {
		return nil, nil // no verb changes large weights alone, and no sizes that are declared need one
	}
	var records []record
	if v.Expect == "" {
		records = recordsBeside(path, afterPath)
	}
	least := math.MaxInt
	for _, r := range append(records, candidates(ctx, path, afterPath, before, after, open)...) {
		m, changes, n, err := nearest(ctx, path, r.steps, open, after)
		if ctx.Err() != nil {
			return best, ctx.Err()
		}
		if err != nil {
			continue // a verb that refuses has not made the new file
		}
		if n >= least || r.exact && (n > 0 || changes == nil) {
			m.Close()
			continue
		}
		if best != nil {
			best.Close()
		}
		best, least, o.Command = m, n, r.commands()
		if n == 0 && r.name != "" {
			o.Plan, o.Record = &report.Plan{Schema: report.SchemaPlan, Command: o.Command, Changes: changes}, r.name
		}
		if n == 0 {
			o.Remake = r.commandLine(path, afterPath)
			break
		}
	}
	return best, nil
}
