package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// maxReplayBytes bounds the bytes that are written to a temporary folder for a model of
// several files; one file is looked at as it would be, without being written.
const maxReplayBytes = 4 << 30

// Replay makes the changes of requests once more: what the new file has to be, and how the encodings change. The
// last one is made in place where that is asked. The caller closes the model.
func Replay(ctx context.Context, path string, steps []report.Request, open source.Options, inPlace bool) (m position.Model, changes []report.Change, err error) {
	if len(steps) > 0 {
		open.Assume = cmp.Or(open.Assume, steps[0].Assume)
	}
	old, err := source.Open(ctx, path, open)
	if err != nil {
		return nil, nil, err
	}
	last := &made{Model: old, clear: func() error { return nil }}
	for i, r := range steps {
		c, err := requested(path, r, open)
		if err != nil {
			return nil, nil, errors.Join(err, last.Close())
		}
		isLast := i == len(steps)-1
		c.w.InPlace = inPlace && isLast
		d, err := c.decided(last.Model)
		if err != nil {
			return nil, nil, errors.Join(err, last.Close())
		}
		if d.Nothing != "" {
			continue
		}
		changes = append(changes, d.Changes...)
		next, err := last.remade(ctx, c, isLast)
		if err != nil && len(steps) == 1 && !inPlace {
			last.Close()
			m, err = written(ctx, c)
			return m, changes, err
		}
		if err != nil {
			return nil, nil, errors.Join(err, last.Close())
		}
		last = next
	}
	return last, changes, nil
}

// remade is the model with a change that was decided on it, unwritten; another one follows unless it is the last.
// Closing it closes m as well: the new bytes come from there.
func (m *made) remade(ctx context.Context, c *run, last bool) (*made, error) {
	plan, err := layOut(m.Model, c.w, c.length)
	if err != nil {
		return nil, err
	}
	next, err := preview(m.Model, plan)
	if err != nil {
		return nil, err
	}
	if !last {
		if err = next.Model.Close(); err == nil {
			old := m.Model
			if next.Model, err = source.OpenReader(ctx, next.view, plan.OutputSize(0), source.ShownPath(c.path), nil); err == nil {
				err = position.AssumeAs(next.Model, old)
			}
		}
		if err != nil {
			return nil, errors.Join(err, next.clear())
		}
	}
	clear := next.clear
	next.clear = func() error { return errors.Join(clear(), m.Close()) }
	return next, nil
}

// written makes a change of a model of several files in a temporary folder.
func written(ctx context.Context, c *run) (_ position.Model, err error) {
	m, err := source.Open(ctx, c.path, c.open)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, f := range m.Describe().Files {
		total += f.Bytes
	}
	if err := m.Close(); err != nil {
		return nil, err
	}
	if total > maxReplayBytes {
		return nil, fmt.Errorf("its files have %d bytes, and to make the change again they would be written", total)
	}
	folder, err := os.MkdirTemp("", "modelpatch-")
	if err != nil {
		return nil, err
	}
	clear := func() error { return os.RemoveAll(folder) }
	c.w = WriteOptions{Output: filepath.Join(folder, filepath.Base(source.ShownPath(c.path))), Force: true}
	result, err := c.run(ctx)
	if err == nil && result.Nothing != "" {
		err = errors.New(result.Nothing)
	}
	if err == nil {
		m, err = source.Open(ctx, c.w.Output, c.open)
	}
	if err != nil {
		return nil, errors.Join(err, clear())
	}
	return &made{Model: m, clear: clear}, nil
}

// requested is the change that a plan asks for.
func requested(path string, r report.Request, open source.Options) (*run, error) {
	of, ok := replays[r.Verb]
	if !ok {
		return nil, fmt.Errorf("the verb %q is none of this version's", r.Verb)
	}
	c, err := of(r.Options)
	if err != nil {
		return nil, err
	}
	return &run{Change: c, path: path, open: open}, nil
}

// Command is the command line of the change that a plan asks for; the verb alone where it is none of
// this version's.
func Command(r report.Request) string {
	c, err := requested("", r, source.Options{})
	if err != nil {
		return r.Verb
	}
	return c.Change.command
}
