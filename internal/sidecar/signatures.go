package sidecar

import (
	"os"
	"path/filepath"

	"github.com/modelpatch/modelpatch/internal/source"
)

// Signatures lists the files beside a model that may sign it or state its digest, by
// name: OpenSSF model signing's bundles (model.sig, or named after the file), sigstore's
// bundles, and lists of checksums. A change of the model makes them stale; whether they speak of
// this file is not looked at.
func Signatures(model string) []string {
	if source.IsAddress(model) {
		return nil // each would be a request, and a change is written elsewhere
	}
	folder, base := filepath.Split(model)
	var out []string
	for _, name := range signatureNames(base) {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			out = append(out, name)
		}
	}
	return out
}

// signatureNames are names of files that may sign a model of a base name.
func signatureNames(base string) []string {
	return []string{"model.sig", "model.sigstore.json", base + ".sig", base + ".sigstore.json", base + ".sha256", "SHA256SUMS"}
}

// StaleSignatures are sentences about signatures beside a model that a change makes stale: in place, or of a new file.
func StaleSignatures(model string, inPlace, newFile bool) []string {
	var out []string
	for _, name := range Signatures(model) {
		switch {
		case inPlace:
			out = append(out, name+" signs the model as it was, or states its digest: sign the changed one again, or take the change back")
		case newFile:
			out = append(out, name+" signs the old model, or states its digest: the new file needs its own")
		}
	}
	return out
}

// AllNames are the names of files beside a model that reports of check may depend on, there or not:
// those that state its length, and those that sign it.
func AllNames(model string) []string {
	return append(Names(model), signatureNames(filepath.Base(model))...)
}
