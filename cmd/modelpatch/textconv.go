package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
)

// textconv prints what git compares of a file: the report, and digests of what it does not tell; or why
// there is none. git ends where a textconv fails, and gives the file a name in a temporary folder,
// which is left out.
func (c *console) textconv(ctx context.Context, in input, o modelpatch.OpenOptions, verbose bool) {
	err := in.err
	switch {
	case err != nil:
	case isPatchName(in.path):
		if c.show(ctx, in.path, o, false, verbose) == modelpatch.ExitDone {
			return
		}
		err = errors.New(in.path + ": cannot be read") // why was said
	default:
		if err = c.converted(ctx, in.path, o, verbose); err == nil {
			return
		}
	}
	c.printf("%s\n", shortened(oneLine(strings.TrimPrefix(strings.ReplaceAll(err.Error(), in.path, filepath.Base(in.path)), filepath.Base(in.path)+": "))))
}

// converted prints the report about a model, and the digests.
func (c *console) converted(ctx context.Context, path string, o modelpatch.OpenOptions, verbose bool) error {
	m, r, err := source.OpenInspected(ctx, path, source.Options(o))
	if err != nil {
		return err
	}
	defer m.Close()
	weights, rest, err := digests(ctx, m)
	if err != nil {
		return err
	}
	r.Path = "model"
	c.inspect(r, verbose, nil)
	c.field("weights", weights)
	c.field("all else", rest)
	return nil
}

// digests are SHA-256 of a model's tensors and of its other parts, in an order that does not change with
// the file's.
func digests(ctx context.Context, m position.Model) (weights, rest string, err error) {
	parted, ok := m.(position.Parted)
	if !ok {
		return "", "", errors.New("files of this format are not taken apart")
	}
	parts, err := parted.Parts()
	if err != nil {
		return "", "", err
	}
	slices.SortStableFunc(parts, func(a, b position.Part) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	tensors, others := sha256.New(), sha256.New()
	count := 0
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return "", "", err
		}
		to := others
		if p.Kind == "tensor" {
			to = tensors
			count++
		}
		fmt.Fprintf(to, "%q %q %q %v %d\n", p.Kind, p.Name, p.Head, p.Dims, p.Size)
		if p.Open == nil {
			continue
		}
		if _, err := io.Copy(to, p.Open()); err != nil {
			return "", "", err
		}
	}
	return fmt.Sprintf("%s, sha256 %s", plural(count, "tensor"), hex.EncodeToString(tensors.Sum(nil))),
		fmt.Sprintf("%s, sha256 %s", plural(len(parts)-count, "part"), hex.EncodeToString(others.Sum(nil))), nil
}

// isTextconv reports whether git runs the command and reads its output: in git log -p or git diff, which
// end where a textconv fails. A hook of git, whose exit code counts, has an index.
func isTextconv() bool {
	_, inGit := os.LookupEnv("GIT_PREFIX")
	_, inHook := os.LookupEnv("GIT_INDEX_FILE")
	info, err := os.Stdout.Stat()
	return inGit && !inHook && err == nil && info.Mode()&os.ModeNamedPipe != 0
}
