package modelpatch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/report"
)

// Types of the statement that Provenance makes.
const (
	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = "https://github.com/modelpatch/modelpatch/change/v1"
)

// Resource is a file by its digest, as in-toto describes one (ResourceDescriptor, in-toto
// attestation framework v1).
type Resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Digests reads all files of a model and gives their SHA-256. It must be asked before a
// change in place.
func Digests(ctx context.Context, path string, open OpenOptions) ([]Resource, error) {
	m, err := OpenContext(ctx, path, open)
	if err != nil {
		return nil, err
	}
	d := m.Describe()
	m.Close()
	var out []Resource
	for _, file := range append([]report.File{{Path: path}}, d.Files...) {
		if len(out) > 0 && ShownPath(file.Path) == out[0].Name {
			continue
		}
		sum, err := digestOf(ctx, path, file.Path, open)
		if err != nil {
			return nil, err
		}
		out = append(out, Resource{Name: report.Name(ShownPath(file.Path)), Digest: map[string]string{"sha256": sum}})
	}
	return out, nil
}

// digestOf is the SHA-256 of a file of a model.
func digestOf(ctx context.Context, model, file string, open OpenOptions) (string, error) {
	r, size, close, err := OpenFileOf(ctx, model, file, open)
	if err != nil {
		return "", err
	}
	defer close()
	sum, err := readDigest(ctx, io.NewSectionReader(r, 0, size))
	if err != nil {
		return "", cannotOpen(file, err)
	}
	return sum, nil
}

// FileDigest is the SHA-256 of a regular file, as hexadecimal digits.
func FileDigest(ctx context.Context, path string) (string, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readDigest(ctx, f)
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
		"_type": statementType, "subject": subjects, "predicateType": provenanceType,
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
