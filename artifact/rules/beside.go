package rules

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/pythonjson"
	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// maxBeside bounds files beside a model that are read; they are a few kilobytes.
const maxBeside = 16 << 20

// Config is what config.json (transformers) says of RoPE.
type Config struct {
	Path    string
	Base    float64 // rope_theta; 0: not stated
	Scaling string  // rope_scaling's type; "": none stated
	Factor  float64 // 0: not stated
	// Original is the length that the model was trained with before the scaling; 0: not stated.
	Original int
}

// remedies are how rope makes a model compute the scaling that a configuration states; letters stand for
// what it does not say.
func (c *Config) remedies() []report.Remedy {
	number := func(x float64, unknown string) string {
		if x == 0 {
			return unknown
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	t := schemes.Scaling{Type: c.Scaling}.Kind()
	if !t.Settable {
		return nil
	}
	scaling := []string{"scaling", t.Name}
	if t.NeedsFactor && !t.Listed {
		scaling = append(scaling, "factor", number(c.Factor, "S"))
	}
	if t.Reads(schemes.ParameterOriginalLength.Name) && !t.Listed {
		scaling = append(scaling, "original-length", number(float64(c.Original), "L"))
	}
	if t.Listed {
		scaling = append(scaling, "factors", c.Path)
	}
	if t.Freezes() {
		scaling = append(scaling, "len", "N")
	}
	return []report.Remedy{report.Do("rope", "writes what the configuration says", scaling...)}
}

// ropeParameters are the fields of a configuration that speak of RoPE: rope_scaling of
// transformers 4, rope_parameters of transformers 5.
type ropeParameters struct {
	Theta  *float64 `json:"rope_theta"`
	Type   string   `json:"rope_type"`
	Old    string   `json:"type"`
	Factor *float64 `json:"factor"`
	Length *int     `json:"original_max_position_embeddings"`
}

// readConfig reads config.json; nil where it is none.
func readConfig(data []byte, path string) *Config {
	type fields struct {
		Theta      *float64        `json:"rope_theta"`
		Scaling    json.RawMessage `json:"rope_scaling"`
		Parameters json.RawMessage `json:"rope_parameters"`
	}
	var whole struct {
		fields
		Text *fields `json:"text_config"`
	}
	if json.Unmarshal(pythonjson.Plain(data), &whole) != nil {
		return nil
	}
	in := whole.fields
	if whole.Text != nil {
		in = *whole.Text
	}
	c := &Config{Path: report.Name(path)}
	if in.Theta != nil {
		c.Base = *in.Theta
	}
	for _, raw := range []json.RawMessage{in.Scaling, in.Parameters} {
		var p ropeParameters
		if len(raw) == 0 || json.Unmarshal(raw, &p) != nil {
			continue // a map by layer types, as Gemma 3 has, says nothing here
		}
		if p.Theta != nil {
			c.Base = *p.Theta
		}
		if t := cmp.Or(p.Type, p.Old); t != "" && t != "default" {
			c.Scaling = map[string]string{"su": "longrope"}[t]
			c.Scaling = cmp.Or(c.Scaling, t)
		}
		if p.Factor != nil {
			c.Factor = *p.Factor
		}
		if p.Length != nil {
			c.Original = *p.Length
		}
	}
	return c
}

// offset is how many positions a configuration may state beyond those of the table:
// RoBERTa's says 514 for 512.
const offset = 4

func sidecarLength(f *Facts, found func(report.Finding)) {
	if !f.isModel() {
		return
	}
	length := f.Report.Length
	for _, s := range f.Stated.Lengths {
		where := &report.Where{File: s.Path, Key: s.Pointer}
		switch {
		case length.Capacity != nil && s.Length > *length.Capacity+offset:
			found(report.Finding{Level: report.LevelError, Message: fmt.Sprintf("%s says %d at %s, and the model encodes %d positions", filepath.Base(s.Path), s.Length, s.Pointer, *length.Capacity), Where: where,
				Remedies: []report.Remedy{report.Do("extend", "makes the model as long", "len", fmt.Sprint(s.Length))}})
		case length.Stated != nil && s.Length > *length.Stated+offset:
			found(report.Finding{Message: fmt.Sprintf("%s says %d at %s, and the model states %d", filepath.Base(s.Path), s.Length, s.Pointer, *length.Stated), Where: where})
		case filepath.Base(s.Path) == "config.json" && max(value(length.Stated), value(length.Capacity)) > s.Length+offset:
			found(report.Finding{Message: fmt.Sprintf("config.json says %d at %s, and the model has %d", s.Length, s.Pointer, max(value(length.Stated), value(length.Capacity))), Where: where})
		case max(value(length.Stated), value(length.Capacity)) > s.Length+offset:
			found(report.Finding{Level: report.LevelNote, Message: fmt.Sprintf("%s says %d at %s, where longer input is cut, and the model has %d", filepath.Base(s.Path), s.Length, s.Pointer, max(value(length.Stated), value(length.Capacity))), Where: where})
		}
	}
}

// sidecarPicture compares the sizes that a file beside the model states with the picture that the
// graph is for. A picture may be resized and then cut: one number that fits is enough.
func sidecarPicture(f *Facts, found func(report.Finding)) {
	g, ok := f.Model.(position.Gridder)
	if !ok || !f.isModel() || len(f.Stated.Pictures) == 0 {
		return
	}
	grid, side := g.PatchGrid(), g.PatchSize()
	if grid[1]*side == 0 || grid[2]*side == 0 {
		return
	}
	if free, _ := g.Takes(grid.WithSides(grid[1]+1, grid[2]+1)); free {
		return
	}
	takes := [2]int{grid[1] * side, grid[2] * side}
	fits, first := map[string]bool{}, map[string]sidecar.StatedPicture{}
	for _, s := range f.Stated.Pictures {
		fits[s.Path] = fits[s.Path] || (s.Height == 0 || s.Height == takes[0]) && (s.Width == 0 || s.Width == takes[1])
		if _, ok := first[s.Path]; !ok {
			first[s.Path] = s
		}
	}
	for _, path := range slices.Sorted(maps.Keys(first)) {
		if s := first[path]; !fits[path] {
			found(report.Finding{Message: fmt.Sprintf("%s says %d pixels at %s, and the model takes pictures of %d×%d", filepath.Base(path), max(s.Height, s.Width), s.Pointer, takes[0], takes[1]),
				Where: &report.Where{File: path, Key: s.Pointer}})
		}
	}
}

// sidecarUnreadable finds files beside the model that are there and say nothing to anybody.
func sidecarUnreadable(f *Facts, found func(report.Finding)) {
	for _, err := range f.Stated.Unreadable {
		e, ok := errors.AsType[*modelpatch.InputError](err)
		if !ok {
			continue
		}
		found(report.Finding{Message: fmt.Sprintf("%s is there, and not readable: %s", filepath.Base(e.Path), e.Why), Where: &report.Where{File: report.Name(e.Path)}})
	}
}

func value(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

// baseSlack is how far a base may be from the configuration's: it is stored in float32 or
// read back from frequencies of that precision.
const baseSlack = 1e-3

// sidecarRope compares config.json with what the file computes, where the file has one
// rotation.
func sidecarRope(f *Facts, found func(report.Finding)) {
	if !f.isModel() || f.Config == nil {
		return
	}
	var rope []report.Encoding
	for _, e := range f.Report.Encodings {
		if e.Scheme == report.SchemeRope {
			rope = append(rope, e)
		}
	}
	if len(rope) != 1 {
		return
	}
	e, c := rope[0], f.Config
	scaling := "none"
	if s := e.Parameters.Scaling; s != nil {
		scaling = s.Type
	}
	where := &report.Where{File: c.Path}
	base := e.Parameters.Base
	switch {
	case c.Scaling == "" && scaling != "none" && scaling != "custom" && c.Base != 0:
		found(report.Finding{Message: fmt.Sprintf("config.json has no rope_scaling, and the model scales RoPE: %s", scaling), Where: where, Remedies: c.remedies()})
	case c.Scaling != "" && scaling == "none" && (c.Factor == 0 || c.Factor > 1):
		found(report.Finding{Message: fmt.Sprintf("config.json says rope_scaling %s, and the model computes RoPE without scaling: the export may have frozen it at the length that was traced", report.Printable(c.Scaling)), Where: where, Remedies: c.remedies()})
	case base != nil && c.Base > 0 && scaling == "none" && c.Scaling == "" && math.Abs(float64(*base)/c.Base-1) > baseSlack:
		found(report.Finding{Message: fmt.Sprintf("config.json says rope_theta %g, and the model computes RoPE with base %g", c.Base, float64(*base)), Where: where,
			Remedies: []report.Remedy{report.Do("rope", "writes what the configuration says", "base", strconv.FormatFloat(c.Base, 'f', -1, 64))}})
	}
}

// staleSignature compares the SHA-256 of the model with those that files beside it name:
// OpenSSF model signing (model.sig, NAME.sig, *.sigstore.json: a DSSE envelope with an in-toto
// statement), SHA256SUMS and NAME.sha256. The model is hashed only where there is one.
func staleSignature(f *Facts, found func(report.Finding)) {
	if f.Model == nil || f.Report == nil || f.Path == source.Stdin || source.IsAddress(f.Path) {
		return
	}
	folder, base := filepath.Split(f.Path)
	var have string
	for _, candidate := range sidecar.Signatures(f.Path) {
		path := filepath.Join(folder, candidate)
		data, _, err := regular.Read(path, maxBeside)
		if err != nil {
			continue
		}
		want, ok := signedDigest(data, base)
		if !ok {
			continue
		}
		if have == "" {
			if have, err = change.FileDigest(context.Background(), f.Path); err != nil {
				return
			}
		}
		if want != have {
			found(report.Finding{Message: fmt.Sprintf("%s names SHA-256 %.12s… for this file, which has %.12s…", candidate, want, have), Where: &report.Where{File: report.Name(path)}})
		}
	}
}

// signedDigest is the SHA-256 that a signature or a list of checksums gives a file.
func signedDigest(data []byte, base string) (string, bool) {
	var bundle struct {
		Envelope struct {
			Payload string `json:"payload"`
		} `json:"dsseEnvelope"`
	}
	if json.Unmarshal(data, &bundle) == nil && bundle.Envelope.Payload != "" {
		payload, err := base64.StdEncoding.DecodeString(bundle.Envelope.Payload)
		var statement struct {
			Predicate struct {
				Resources []struct {
					Name      string `json:"name"`
					Algorithm string `json:"algorithm"`
					Digest    string `json:"digest"`
				} `json:"resources"`
			} `json:"predicate"`
		}
		if err != nil || json.Unmarshal(payload, &statement) != nil {
			return "", false
		}
		for _, r := range statement.Predicate.Resources {
			if r.Name == base && (r.Algorithm == "" || r.Algorithm == "sha256") {
				return strings.ToLower(r.Digest), true
			}
		}
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) > 0 && len(fields[0]) == hex.EncodedLen(sha256.Size) && (len(fields) == 1 || strings.TrimPrefix(fields[1], "*") == base) {
			return strings.ToLower(fields[0]), true
		}
	}
	return "", false
}
