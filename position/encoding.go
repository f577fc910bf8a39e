package position

import (
	"cmp"

	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Report says the encoding in the words of the report contract.
func (e Encoding) Report(id string) report.Encoding {
	out := report.Encoding{
		ID: id, Scheme: report.SchemeUnknown, Beyond: cmp.Or(e.Beyond, report.BeyondUnknown), Layers: report.Layers(e.Layers),
		Parameters: e.parameters(), Where: append([]report.Where{}, e.Where...), Evidence: append([]report.Evidence{}, e.Evidence...), Also: append([]report.Reading{}, e.Also...), // never null
	}
	if e.Scheme != nil {
		out.Scheme = e.Scheme.Name()
	}
	if e.Form != "" {
		out.Form = report.Pointer(e.Form)
	}
	if e.Capacity > 0 {
		out.Capacity = report.Pointer(e.Capacity)
	}
	return out
}

// parameters are the scheme's parameters, with what the encoding adds to them:
// the storage type, the rows of a cache.
func (e Encoding) parameters() report.Parameters {
	p := parameters.Of(e.Scheme)
	p.Dtype, p.Defaults = e.Dtype, e.Defaults
	parameters.Attending(e.Attending, &p)
	if _, rotary := any(e.Scheme).(schemes.Rotary); rotary {
		if p.Rows = parameters.Positive(e.Rows); e.Form == report.FormCache {
			p.Rows = parameters.Positive(max(e.Rows, e.Capacity))
		}
	}
	return p
}

// EncodingName is the field's name for a scheme, as messages begin with it.
func EncodingName(s schemes.Scheme) string { return report.EncodingName(s.Name()) }
