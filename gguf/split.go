package gguf

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Keys of a split model. Engines read only these types: count and number u16,
// the total of tensors i32 (facts/GGUF-FACTS §a).
const (
	keySplitNo      = "split.no"
	keySplitCount   = "split.count"
	keySplitTensors = "split.tensors.count"
)

// shardName is how shards are named: prefix-00001-of-00003.gguf.
var shardName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)
})

// splitCount is the number of parts that this part claims, 1 for a whole file.
func (p *Part) splitCount() uint64 {
	n, _ := p.Find(keySplitCount).Uint()
	return max(n, 1)
}

// companions opens all parts of the model to which a part belongs.
func (o *opener) companions(first *Part) ([]*Part, error) {
	count := first.splitCount()
	folder, base := filepath.Split(first.Path)
	m := shardName().FindStringSubmatch(base)
	if m == nil || count > MaxParts || m[3] != fmt.Sprintf("%05d", count) {
		return nil, &FormatError{Path: first.Path, What: "split model", At: -1, Key: keySplitCount,
			Why:  fmt.Sprintf("one of %d parts, and its name does not end in -NNNNN-of-%05d.gguf, so the others cannot be found", count, count),
			Hint: "give the shards their original names"}
	}
	have, _ := strconv.Atoi(m[2])
	var parts []*Part
	for i := 1; i <= int(count); i++ {
		part := first
		if i != have {
			path := folder + fmt.Sprintf("%s-%05d-of-%05d.gguf", m[1], i, count)
			var err error
			if part, err = o.part(path); err != nil {
				return nil, missing(first.Path, path, count, err)
			}
		}
		if err := part.belongs(i-1, count); err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, totals(parts)
}

// missing explains that a shard cannot be read.
func missing(first, path string, count uint64, err error) error {
	return &FormatError{Path: first, What: "split model", At: -1, Err: err,
		Why:  fmt.Sprintf("%d parts, and one cannot be read: %v", count, err),
		Hint: fmt.Sprintf("put all %d shards into one folder; missing or broken: %s", count, clip(filepath.Base(path)))}
}

// belongs checks that a part is number i of count.
func (p *Part) belongs(i int, count uint64) error {
	fault := func(key, why string) error {
		return &FormatError{Path: p.Path, What: "split model", At: -1, Key: key, Why: why,
			Hint: "this shard belongs to another model or was renamed"}
	}
	no, ok := p.Find(keySplitNo).Uint()
	if !ok || no != uint64(i) {
		return fault(keySplitNo, fmt.Sprintf("part %d of %d by its name, number %s by its key", i+1, count, orNone(no, ok)))
	}
	if pair := p.Find(keySplitCount); pair != nil && p.splitCount() != count {
		return fault(keySplitCount, fmt.Sprintf("part of %d parts, not of %d", p.splitCount(), count))
	}
	for _, want := range []struct {
		key string
		t   ValueType
	}{{keySplitNo, TypeUint16}, {keySplitCount, TypeUint16}, {keySplitTensors, TypeInt32}} {
		if pair := p.Find(want.key); pair != nil && pair.Type != want.t {
			p.odd(Oddity{Rule: "gguf-key-type", Key: want.key, At: pair.TypeAt, Refused: true,
				Says: fmt.Sprintf("%s has type %s; llama.cpp wants %s", want.key, pair.Type, want.t)})
		}
	}
	return nil
}

func orNone(n uint64, ok bool) string {
	if !ok {
		return "none"
	}
	return strconv.FormatUint(n, 10)
}

// totals checks that the parts hold as many tensors as the first one says.
func totals(parts []*Part) error {
	want, ok := parts[0].Find(keySplitTensors).Uint()
	if !ok {
		return nil
	}
	have := uint64(0)
	for _, p := range parts {
		have += uint64(len(p.Tensors))
	}
	if have != want {
		return &FormatError{Path: parts[0].Path, What: "split model", At: -1, Key: keySplitTensors,
			Why:  fmt.Sprintf("%d tensors by its key, %d in its %d parts", want, have, len(parts)),
			Hint: "a shard belongs to another model or version"}
	}
	return nil
}

// ShardNames returns the names of the n shards of a model to be written as
// target: target itself when it is the name of a first shard of n, else its
// name with the numbers added. All but the first are without folder.
func ShardNames(target string, n int) []string {
	folder, base := filepath.Split(target)
	prefix := strings.TrimSuffix(base, ".gguf")
	if m := shardName().FindStringSubmatch(base); m != nil && m[3] == fmt.Sprintf("%05d", n) {
		prefix = m[1]
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, i+1, n)
	}
	names[0] = folder + names[0]
	return names
}
