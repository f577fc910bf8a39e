package change

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// Types of the statement that Provenance makes.
const (
	StatementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = "https://github.com/modelpatch/modelpatch/change/v1"
)

// Resource is a file by its digest, as in-toto describes one (ResourceDescriptor, in-toto
// attestation framework v1).
type Resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`

	path    string
	info    fs.FileInfo // of the file that was hashed; nil: it is named by an address
	version string      // of one that is named by an address; "": it tells none
}

// Digests reads all files of a model and gives their SHA-256. It must be asked before a
// change in place. WriteOptions.Inputs holds a change to these very files.
func Digests(ctx context.Context, path string, open source.Options) ([]Resource, error) {
	m, err := source.Open(ctx, path, open)
	if err != nil {
		return nil, err
	}
	d := m.Describe()
	m.Close()
	var out []Resource
	for _, file := range append([]report.File{{Path: path}}, d.Files...) {
		if len(out) > 0 && source.ShownPath(file.Path) == out[0].Name {
			continue
		}
		r := Resource{Name: report.Name(source.ShownPath(file.Path)), path: file.Path}
		sum, err := r.hash(ctx, path, open)
		if err != nil {
			return nil, err
		}
		r.Digest = map[string]string{"sha256": sum}
		out = append(out, r)
	}
	return out, nil
}

// hash is the SHA-256 of a file of a model, and notes which file that was.
func (r *Resource) hash(ctx context.Context, model string, open source.Options) (sum string, err error) {
	if source.IsAddress(model) {
		return r.hashDistant(ctx, model, open)
	}
	if sum, r.info, err = fileDigest(ctx, r.path); err != nil {
		return "", source.CannotOpen(r.path, err)
	}
	return sum, nil
}

func (r *Resource) hashDistant(ctx context.Context, model string, open source.Options) (string, error) {
	file, size, close, err := source.OpenFile(ctx, model, r.path, open)
	if err != nil {
		return "", err
	}
	defer close()
	if v, ok := file.(interface{ Version() string }); ok {
		r.version = v.Version()
	}
	sum, err := readDigest(ctx, io.NewSectionReader(file, 0, size))
	if err != nil {
		return "", source.CannotOpen(r.path, err)
	}
	return sum, nil
}

// FileDigest is the SHA-256 of a regular file, as hexadecimal digits. A file that is written or
// replaced meanwhile is an error.
func FileDigest(ctx context.Context, path string) (string, error) {
	sum, _, err := fileDigest(ctx, path)
	return sum, err
}

// fileDigest is FileDigest, and tells which file it was.
func fileDigest(ctx context.Context, path string) (string, fs.FileInfo, error) {
	f, info, err := regular.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	sum, err := readDigest(ctx, f)
	if err != nil {
		return "", nil, err
	}
	now, err := os.Stat(path)
	if err == nil && !patch.Unchanged(info, now) {
		err = errors.New("changed while it was hashed")
	}
	return sum, info, err
}

// hashed holds the inputs of a plan, and what else was hashed but the given paths, against the files
// that Digests has read: a statement must not speak of others.
func hashed(inputs []Resource, plan patch.Plan, but []string) error {
	for _, r := range inputs {
		changed := &patch.InputError{Path: source.ShownPath(r.path), Err: errors.New("is another file than the one that was hashed for the statement")}
		for _, in := range plan.Inputs {
			v, versioned := in.Reader.(interface{ Version() string })
			if in.Path == source.ShownPath(r.path) && (r.info != nil && in.Info != nil && !patch.Unchanged(r.info, in.Info) || r.version != "" && versioned && v.Version() != r.version) {
				return changed
			}
		}
		if r.info == nil || slices.Contains(but, r.path) {
			continue
		}
		if now, err := os.Stat(r.path); err != nil || !patch.Unchanged(r.info, now) {
			return changed
		}
	}
	return nil
}

// readDigest is the SHA-256 of what is read until a context ends.
func readDigest(ctx context.Context, f io.Reader) (string, error) {
	h := sha256.New()
	block := make([]byte, 1<<20)
	for {
		n, err := f.Read(block)
		h.Write(block[:n])
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return "", err
		}
	}
}

// Provenance is an in-toto statement (v1) with SLSA provenance (v1) about a change: its
// subjects are the files that were written, its dependencies those that were read, and its
// parameters the command. The plan must tell digests (WriteOptions.Digest). Whoever vouches for the
// change signs it, for instance with cosign attest-blob.
func Provenance(plan report.Plan, inputs []Resource, version string, began, ended time.Time) ([]byte, error) {
	subjects := []Resource{}
	for _, w := range plan.Written {
		if w.SHA256 != nil {
			subjects = append(subjects, Resource{Name: filepath.ToSlash(w.Path), Digest: map[string]string{"sha256": *w.SHA256}})
		}
	}
	verb, _, _ := strings.Cut(plan.Command, " ")
	type object = map[string]any
	line, err := report.Line(plan)
	if err != nil {
		return nil, err
	}
	byproducts := []object{{"name": "plan", "mediaType": "application/json", "content": line}} // bytes, as ResourceDescriptor has it
	if plan.Verified != nil {
		byproducts = append(byproducts, object{"name": "verdict", "annotations": object{"verdict": plan.Verified.Verdict}})
	}
	statement := object{
		"_type": StatementType, "subject": subjects, "predicateType": provenanceType,
		"predicate": object{
			"buildDefinition": object{"buildType": buildType, "externalParameters": object{"command": "modelpatch " + plan.Command, "verb": verb}, "resolvedDependencies": inputs},
			"runDetails": object{
				"builder":    object{"id": "https://github.com/modelpatch/modelpatch", "version": object{"modelpatch": version}},
				"metadata":   object{"startedOn": began.UTC().Format(time.RFC3339), "finishedOn": ended.UTC().Format(time.RFC3339)},
				"byproducts": byproducts,
			},
		},
	}
	b, err := json.MarshalIndent(statement, "", " ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
