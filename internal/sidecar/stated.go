package sidecar

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/modelpatch/modelpatch/internal/pythonjson"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/report"
)

// StatedLength is a number in a file beside a model that states how far the model
// counts.
type StatedLength struct {
	Path    string // of the file beside the model
	Pointer string // JSON pointer (RFC 6901) of the number
	Length  int
}

// StatedPicture is a number in a file beside a model that states the size of its picture.
type StatedPicture struct {
	Path          string // of the file beside the model
	Pointer       string // JSON pointer (RFC 6901) of the number
	Height, Width int    // pixels; 0: it speaks of the other axis alone
}

// StatesScaling reports whether a config.json states a scaling of RoPE.
func StatesScaling(config []byte) bool {
	type fields struct {
		Scaling    map[string]any `json:"rope_scaling"`
		Parameters map[string]any `json:"rope_parameters"`
	}
	var whole struct {
		fields
		Text fields `json:"text_config"`
	}
	if json.Unmarshal(pythonjson.Plain(config), &whole) != nil {
		return false
	}
	for _, f := range []fields{whole.fields, whole.Text} {
		if len(f.Scaling) > 0 || f.Parameters["rope_type"] != nil && f.Parameters["rope_type"] != "default" {
			return true
		}
	}
	return false
}

// Stated is what the files beside a model state: config.json, genai_config.json,
// preprocessor_config.json, sentence_bert_config.json, tokenizer.json and tokenizer_config.json, whose
// numbers changes of the model may change with it. Those of a model in a folder called onnx may
// lie in the folder above.
type Stated struct {
	Lengths  []StatedLength
	Pictures []StatedPicture
	// Unreadable says of each file that is there why it cannot be read.
	Unreadable []error
}

// ReadStated is what the files beside a model state; the model may be named by an address. Numbers
// that are no whole number of positions or pixels (tokenizers write 10^30 for "no limit") are left out.
func ReadStated(ctx context.Context, model string, o source.Options) (out Stated) {
	for s, numbers := range filesOf(ctx, model, o, &out.Unreadable) {
		for _, n := range numbers {
			v, err := strconv.ParseInt(n.text, 10, 32)
			if err != nil || v <= 0 {
				continue
			}
			picture := StatedPicture{Path: report.Name(s.path), Pointer: n.pointer}
			switch places()[s.name][n.pointer] {
			case Positions:
				out.Lengths = append(out.Lengths, StatedLength{Path: report.Name(s.path), Pointer: n.pointer, Length: int(v)})
				continue
			case PictureHeight:
				picture.Height = int(v)
			case PictureWidth:
				picture.Width = int(v)
			case PictureSide:
				picture.Height, picture.Width = int(v), int(v)
			default:
				continue
			}
			out.Pictures = append(out.Pictures, picture)
		}
	}
	return out
}
