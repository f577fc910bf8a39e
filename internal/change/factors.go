package change

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
)

// longRoPE is the scaling of a configuration as transformers writes it, itself or
// under a key of config.json.
type longRoPE struct {
	Short     []float64 `json:"short_factor"`
	Long      []float64 `json:"long_factor"`
	Factor    float64   `json:"factor"`
	Attention float64   `json:"attention_factor"`
	Original  int       `json:"original_max_position_embeddings"`
	Length    int       `json:"max_position_embeddings"`
}

// maxFactors bounds a file of factors; a list of 128 numbers takes two kilobytes.
const maxFactors = 16 << 20

// ReadFactors reads LongRoPE's lists from a JSON file into options: short_factor and
// long_factor, one number a pair, at the top or under rope_scaling or rope_parameters
// as in a config.json. Factor, original length and attention factor are taken from it
// where the options have none. A file that cannot be read is a [patch.InputError], one
// without lists a [position.UsageError]. Without a factor it is the quotient of max_position_embeddings
// and original_max_position_embeddings, where the file has both.
func ReadFactors(path string, o *position.RescaleOptions) error {
	data, _, err := regular.Read(path, maxFactors)
	if err != nil {
		return &patch.InputError{Path: path, Err: fmt.Errorf("no list of factors: %w", err)}
	}
	const shape = "it is JSON as config.json has it under rope_scaling: two lists with a number for each pair"
	var file struct {
		longRoPE
		Scaling    *longRoPE `json:"rope_scaling"`
		Parameters *longRoPE `json:"rope_parameters"`
	}
	err = json.Unmarshal(data, &file)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &position.UsageError{What: fmt.Sprintf("%s: %s where short_factor and long_factor are looked for", path, cmp.Or(wrong.Value, "another value")), Hint: shape}
	}
	if err != nil {
		return &patch.InputError{Path: path, Err: fmt.Errorf("no JSON: %w", err)}
	}
	found := file.longRoPE
	for _, inner := range []*longRoPE{file.Parameters, file.Scaling} {
		if inner != nil && found.Long == nil {
			outer := found
			found = *inner
			found.Original = cmp.Or(found.Original, outer.Original) // Phi-3 has it outside
			found.Length = cmp.Or(found.Length, outer.Length)
		}
	}
	if found.Short == nil || found.Long == nil {
		return &position.UsageError{What: path + ": no short_factor and long_factor in it", Hint: shape}
	}
	o.ShortFactors, o.LongFactors = found.Short, found.Long
	if o.Factor == 0 {
		o.Factor = found.Factor
	}
	if o.Factor == 0 && found.Original > 0 {
		o.Factor = float64(found.Length) / float64(found.Original) // as transformers does
	}
	if o.OriginalLength == 0 {
		o.OriginalLength = found.Original
	}
	if o.AttentionFactor == 0 {
		o.AttentionFactor = found.Attention
	}
	return nil
}
