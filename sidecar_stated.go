package modelpatch

import (
	"context"
	"strconv"

	"github.com/modelpatch/modelpatch/report"
)

// StatedLength is a number in a file beside a model that states how far the model
// counts.
type StatedLength struct {
	Path    string // of the file beside the model
	Pointer string // JSON pointer (RFC 6901) of the number
	Length  int
}

// StatedBeside lists the lengths that files beside a model state: config.json,
// tokenizer_config.json, genai_config.json and sentence_bert_config.json, the files
// whose numbers Extend changes with the model. Numbers that are no whole number of
// positions (tokenizers write 10^30 for "no limit") are left out.
func StatedBeside(model string) []StatedLength {
	return StatedBesideWith(context.Background(), model, OpenOptions{})
}

// StatedBesideWith is StatedBeside of a model that may be named by an address.
func StatedBesideWith(ctx context.Context, model string, o OpenOptions) []StatedLength {
	var out []StatedLength
	for _, name := range sortedNames() {
		data, err := ReadBeside(ctx, model, name, o)
		if err != nil {
			continue
		}
		for _, n := range jsonNumbers(data, sidecarPointers[name]) {
			if length, err := strconv.ParseInt(n.text, 10, 32); err == nil && length > 0 {
				out = append(out, StatedLength{Path: report.Name(PathBeside(model, name)), Pointer: n.pointer, Length: int(length)})
			}
		}
	}
	return out
}
